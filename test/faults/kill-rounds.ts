/** Kills the service at random moments under load, starts it again, and checks what it promised before. */
import { Database } from 'bun:sqlite';
import { clientOf, sent } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, type Service, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { LimitedAccount, Writers } from './kill-load.ts';

/** The load lasts this long before the kill, and on a slow machine until so many animals are acknowledged. */
const loadMs = { least: 100, most: 1_300 } as const;
export const leastAcknowledged = 40;
/** Animals of each round that are also asked for over HTTP; all are looked up in the file. */
const askedFor = 20;

export interface KillOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Serving processes; with more than one, their supervisor is killed. */
  readonly workers?: number;
  /** How soon after its start the service has to answer again; unbounded unless given. */
  readonly backWithinMs?: number;
  readonly progress?: (line: string) => void;
}

export interface KillFigures {
  acknowledged: number;
  /** Sent but not acknowledged when the service was killed, and how many of them were stored. */
  unanswered: number;
  storedUnanswered: number;
  slowestStartMs: number;
  /** The most that any limited account was charged for requests that were under way. */
  mostChargedUnused: number;
}

/** Throws at the first promise that is broken. */
export async function killRounds({
  rounds,
  seed,
  workers = 1,
  backWithinMs = Number.POSITIVE_INFINITY,
  progress,
}: KillOptions): Promise<KillFigures> {
  const random = randomFrom(seed);
  const figures: KillFigures = {
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
    const settings = { LOG_LEVEL: 'warn', WORKERS: String(workers) };
    const service = stack.use(await startService(folder.path, settings));
    const { status } = await fetch(`${service.url}/readyz`);
    const tookMs = performance.now() - from;
    if (status !== 200 || tookMs > backWithinMs) {
      throw new Error(`It answered ${status} after ${tookMs.toFixed(0)} ms.`);
    }
    figures.slowestStartMs = Math.max(figures.slowestStartMs, Math.round(tookMs));
    return service;
  };

  let service = await start();
  let lastId = 0;
  for (let round = 1; round <= rounds; round++) {
    const key = await issueKey(folder.path, 'enterprise', ample);
    const killAfterMs = loadMs.least + Math.floor(random() * (loadMs.most - loadMs.least));
    const accounts = await LimitedAccount.make(folder.path);
    const animals = new Writers();
    const load = [
      animals.run(clientOf(service.url, key), `round ${round}`),
      ...accounts.map((account) => account.spend(service.url)),
    ];
    const enough = Promise.all([Bun.sleep(killAfterMs), animals.reached(leastAcknowledged)]);
    await Promise.race([enough, Promise.all(load)]);
    service.signal('SIGKILL');
    await Promise.all([service.exited, ...load]);

    service = await start();
    await Promise.all(accounts.map((account) => account.exhaust(service.url)));
    const lost = Math.max(...accounts.map((account) => account.chargedUnused()));
    const stored = checkStored(folder.path, animals, lastId);
    await checkServed(service.url, key, animals);
    lastId = stored.lastId;
    figures.acknowledged += animals.acknowledged.length;
    figures.unanswered += animals.unanswered;
    figures.storedUnanswered += stored.count - animals.acknowledged.length;
    figures.mostChargedUnused = Math.max(figures.mostChargedUnused, lost);
    progress?.(
      `round ${round}: killed after ${killAfterMs} ms, ${animals.acknowledged.length} animals kept, ${lost} charged unused`,
    );
  }
  return figures;
}

/** Every acknowledged animal is in the file under its id, nothing else is that nobody sent, and the file is sound. */
function checkStored(folder: string, animals: Writers, afterId: number): { count: number; lastId: number } {
  using database = new Database(dataFileIn(folder), { readonly: true });
  const soundness = JSON.stringify(database.query('PRAGMA integrity_check').all());
  if (soundness !== '[{"integrity_check":"ok"}]') throw new Error(`The file is damaged: ${soundness}`);
  const rows = database
    .query<{ id: number; name: string; whole: number }, [string, string, number]>(
      `SELECT id, name, category_id = CAST(? AS INTEGER) AND status = ? AS whole
       FROM pets WHERE id > ? ORDER BY id`,
    )
    .all(sent.categoryId, sent.status, afterId);
  const ids = new Map(rows.map(({ id, name }) => [name, id]));
  if (ids.size !== rows.length) throw new Error(`${rows.length - ids.size} animals are stored twice.`);
  for (const { id, name, whole } of rows) {
    if (whole !== 1 || !animals.wasSent(name)) throw new Error(`Nobody sent animal ${id} as it is.`);
  }
  // An id that was given twice, also across kills, would fail here: names are unique.
  for (const { id, name } of animals.acknowledged) {
    if (ids.get(name) !== id) throw new Error(`"${name}" was acknowledged as ${id} and is ${ids.get(name)}.`);
  }
  return { count: rows.length, lastId: rows.at(-1)?.id ?? afterId };
}

async function checkServed(url: string, key: string, animals: Writers): Promise<void> {
  const client = clientOf(url, key);
  for (const { id, name } of animals.acknowledged.slice(-askedFor)) {
    const { status, text } = await client.get(`/pets/${id}`);
    if (status !== 200 || !text.includes(JSON.stringify(name))) {
      throw new Error(`Animal ${id}, acknowledged as "${name}", is answered ${status}: ${text}`);
    }
  }
}
