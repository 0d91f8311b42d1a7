/** Kills the service under load, restarts it and checks its guarantees. */
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, type Service, startService } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { randomFrom } from '../support/random.ts';
import { LimitedAccount, Writers } from './kill-load.ts';
import { checkStored, storedAnimals } from './stored.ts';

/** Number of animals acknowledged before each kill. The limited accounts spread their requests over this period. */
export const acknowledgedAtKill = { least: 40, most: 400 } as const;
/** Number of animals per round that are also read over HTTP. All animals are checked in the data file. */
const askedFor = 20;

interface KillOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Number of worker processes, all of which are killed at the same time. Defaults to 1. */
  readonly workers?: number;
  /** Maximum time until the restarted service is ready. Defaults to no limit. */
  readonly backWithinMs?: number;
  readonly progress?: (line: string) => void;
}

interface KillResult {
  acknowledged: number;
  /** Number of animals that were sent but not acknowledged when the service was killed. */
  unanswered: number;
  storedUnanswered: number;
  slowestStartMs: number;
  /**
   * Maximum number of requests that were counted but not answered, across all limited accounts. All other counts are
   * checked exactly.
   */
  mostChargedUnused: number;
}

/** Throws at the first broken guarantee. */
export async function killRounds({
  rounds,
  seed,
  workers = 1,
  backWithinMs = Number.POSITIVE_INFINITY,
  progress,
}: KillOptions): Promise<KillResult> {
  const random = randomFrom(seed);
  const figures: KillResult = {
    acknowledged: 0,
    unanswered: 0,
    storedUnanswered: 0,
    slowestStartMs: 0,
    mostChargedUnused: 0,
  };
  await using folder = await temporaryFolder();
  await using stack = new AsyncDisposableStack();
  const start = async (): Promise<Service> => {
    const from = performance.now();
    const service = stack.use(await startService(folder.path, { LOG_LEVEL: 'warn', WORKERS: `${workers}` }));
    const { status } = await fetch(`${service.url}/readyz`);
    const tookMs = performance.now() - from;
    if (status !== 200 || tookMs > backWithinMs) {
      throw new Error(`/readyz returned ${status} after ${tookMs.toFixed(0)} ms.`);
    }
    figures.slowestStartMs = Math.max(figures.slowestStartMs, Math.round(tookMs));
    return service;
  };

  let service = await start();
  let lastId = 0;
  for (let round = 1; round <= rounds; round++) {
    const key = await issueKey(folder.path, 'enterprise', ample);
    const { least, most } = acknowledgedAtKill;
    const killAt = least + Math.floor(random() * (most - least));
    const accounts = await LimitedAccount.make(folder.path);
    const animals = new Writers();
    const load = [
      animals.run(clientOf(service.url, key), `round ${round}`),
      ...accounts.map((account) => account.spend(service.url, (share) => animals.reached(share * most))),
    ];
    await Promise.race([animals.reached(killAt), Promise.all(load)]);
    // Kills the workers first, because they return 503 as soon as the writing process has ended.
    for (const pid of [...childrenOf(service.pid), service.pid]) process.kill(pid, 'SIGKILL');
    await Promise.all([service.exited, ...load]);

    service = await start();
    await Promise.all(accounts.map((account) => account.spend(service.url)));
    const lost = Math.max(...accounts.map((account) => account.chargedUnused()));
    const stored = storedAnimals(dataFileIn(folder.path), lastId);
    checkStored(stored, animals.acknowledged, (name) => animals.wasSent(name));
    await checkServed(service.url, key, animals);
    lastId = [...stored.values()].at(-1) ?? lastId;
    figures.acknowledged += animals.acknowledged.length;
    figures.unanswered += animals.unanswered;
    figures.storedUnanswered += stored.size - animals.acknowledged.length;
    figures.mostChargedUnused = Math.max(figures.mostChargedUnused, lost);
    progress?.(
      `round ${round}: killed after ${killAt} animals, ${animals.acknowledged.length} kept, ${lost} counted without a response`,
    );
  }
  return figures;
}

async function checkServed(url: string, key: string, animals: Writers): Promise<void> {
  const client = clientOf(url, key);
  const counted = ample.perDay - 1 - (await client.get('/pets?limit=1')).remaining;
  if (counted < animals.acknowledged.length || counted > animals.sent) {
    throw new Error(
      `${counted} requests were counted, ${animals.acknowledged.length} were acknowledged, ${animals.sent} were sent.`,
    );
  }
  for (const { id, name } of animals.acknowledged.slice(-askedFor)) {
    const { status, text } = await client.get(`/pets/${id}`);
    if (status !== 200 || !text.includes(JSON.stringify(name))) {
      throw new Error(`Animal ${id}, acknowledged as "${name}", returned ${status}: ${text}`);
    }
  }
}
