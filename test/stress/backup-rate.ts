import { statSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, ended } from '../support/cli.ts';
import { type Client, clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, makeStore, settingsIn, startService } from '../support/process.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const animals = 1_000_000;
/** How long the load is measured without a backup, before and after each one. */
const windowMs = 2_000;
const writers = 32;
const readers = 8;
/** A backup has a processor of its own only where there is one to spare. */
const leastRatio = 0.5;

type Counted = 'creations' | 'reads';

/** Requests that were answered, and how long they took. */
interface Window {
  ms: number;
  creations: number;
  reads: number;
}

export const backupRate: StressTest = {
  name: 'backup-rate',
  promise:
    'a backup of a store with 1,000,000 animals does not hold up the service: creations and reads go on at more than half their ' +
    'rate, and the write-ahead log grows by no more than what was written meanwhile',
  rounds: 10,
  run: measure,
};

async function measure({ rounds, progress }: StressOptions): Promise<Figures> {
  await using folder = await temporaryFolder();
  await fill(folder.path);
  await using service = await startService(folder.path, { LOG_LEVEL: 'warn' });
  const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
  const load = new Load(client);
  const without: Window = { ms: 0, creations: 0, reads: 0 };
  const during: Window = { ms: 0, creations: 0, reads: 0 };
  const log = `${dataFileIn(folder.path)}-wal`;
  let mostLog = 0;
  let backupMs = 0;
  for (let round = 1; round <= rounds; round++) {
    add(without, await load.during(Bun.sleep(windowMs)));
    const before = statSync(log).size;
    const from = performance.now();
    add(during, await load.during(backUp(folder.path)));
    backupMs += performance.now() - from;
    mostLog = Math.max(mostLog, statSync(log).size - before);
    add(without, await load.during(Bun.sleep(windowMs)));
    progress(
      `round ${round}: ${ratio(during, without, 'creations')} of creations, ${ratio(during, without, 'reads')} of reads`,
    );
  }
  await load.stop();
  const figures = {
    'creations a second without a backup': perSecond(without, 'creations'),
    'creations during one, as a part of these': ratio(during, without, 'creations'),
    'reads a second without a backup': perSecond(without, 'reads'),
    'reads during one, as a part of these': ratio(during, without, 'reads'),
    'one backup in ms': Math.round(backupMs / rounds),
    'most growth of the log in MB': Math.round(mostLog / 100_000) / 10,
  };
  if (ratio(during, without, 'creations') < leastRatio || ratio(during, without, 'reads') < leastRatio) {
    throw new Error(JSON.stringify(figures));
  }
  return figures;
}

/** Makes a store with its animals. */
async function fill(folder: string): Promise<void> {
  await makeStore(folder);
  const rows = Array.from({ length: animals }, (_, number) => `Animal number ${number},${number % 5_000}\n`);
  await Bun.write(join(folder, 'pets.csv'), `name,categoryId\n${rows.join('')}`);
  await run(folder, 'import', 'pets.csv');
}

async function backUp(folder: string): Promise<void> {
  await run(folder, 'backup', 'made.backup', '--replace');
}

async function run(folder: string, ...words: string[]): Promise<void> {
  const env = { PATH: process.env.PATH ?? '', ...settingsIn(folder) };
  const child = Bun.spawn([...commandLine, ...words], {
    cwd: folder,
    env,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const { exitCode, stderr } = await ended(child);
  if (exitCode !== 0) throw new Error(stderr);
}

/** Clients that write and read without a pause. */
class Load {
  readonly #counts = { creations: 0, reads: 0 };
  readonly #going: Promise<unknown>;
  #stopped = false;

  constructor(client: Client) {
    const go = async (what: Counted, request: (number: number) => ReturnType<Client['get']>) => {
      for (let number = 0; !this.#stopped; number++) {
        const { status, text } = await request(number);
        if (status >= 300) throw new Error(`It was answered ${status}: ${text}`);
        this.#counts[what]++;
      }
    };
    this.#going = Promise.all([
      ...Array.from({ length: writers }, () => go('creations', (number) => client.add(`new ${number}`))),
      ...Array.from({ length: readers }, (_, reader) =>
        go('reads', (number) => client.get(`/pets/${1 + ((number * 7_919 + reader) % animals)}`)),
      ),
    ]);
  }

  async during(event: Promise<unknown>): Promise<Window> {
    const before = { ...this.#counts };
    const from = performance.now();
    await Promise.race([event, this.#going]);
    const { creations, reads } = this.#counts;
    return {
      ms: performance.now() - from,
      creations: creations - before.creations,
      reads: reads - before.reads,
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#going;
  }
}

function add(to: Window, { ms, creations, reads }: Window): void {
  to.ms += ms;
  to.creations += creations;
  to.reads += reads;
}

function perSecond(window: Window, what: Counted): number {
  return Math.round((window[what] / window.ms) * 1_000);
}

/** To a hundredth. */
function ratio(during: Window, without: Window, what: Counted): number {
  return Math.round((perSecond(during, what) / perSecond(without, what)) * 100) / 100;
}
