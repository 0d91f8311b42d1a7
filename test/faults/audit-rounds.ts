/** Kills a service while operators change things, and compares the audit log with what the store has. */
import type { AdminServices } from '../../src/app/app.ts';
import { categoryJson } from '../../src/contract/categories.ts';
import { orderJson } from '../../src/contract/orders.ts';
import { petJson } from '../../src/contract/pets.ts';
import { shownAccount, storedKey } from '../../src/operations/shown.ts';
import type { AuditEntry } from '../../src/tables/operators.ts';
import { addOperatorTo } from '../support/admin.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { consoleOf, makeStore, operatorOf, type Service, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { type Change, Operators } from './audit-load.ts';

/** Operators at work at once, and bans that they lift in each round. */
const operators = 6;
const bansPerRound = 4;
/** Each kill follows a number of acknowledged changes between these. Bans are lifted after about 100. */
export const acknowledgedAtKill = { least: 10, most: 200 } as const;
const mostEntries = 1_000_000;

/** A store, and the service on it. */
export interface AuditedStore extends AsyncDisposable {
  /** The store beside the service. */
  readonly operator: AdminServices;
  start(): Promise<Service>;
}

/** The bans outlast the test. */
const settings = {
  LOG_LEVEL: 'warn',
  DRAIN_SECONDS: '0',
  BAN_STRIKES: '1',
  BAN_FIRST_SECONDS: '86400',
};

export async function embeddedStore(): Promise<AuditedStore> {
  await using made = new AsyncDisposableStack();
  const { path } = made.use(await temporaryFolder());
  await makeStore(path);
  const operator = made.use(await operatorOf(path));
  const kept = made.move();
  return {
    operator,
    start: () => startService(path, settings),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Undefined when this machine has no servers to test with. */
export async function clusterStore(): Promise<AuditedStore | undefined> {
  const cluster = await startCluster({ instances: 0, environment: settings });
  if (cluster === undefined) return undefined;
  return {
    operator: cluster.operator,
    start: () => cluster.startInstance(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

export interface AuditRoundsOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

export interface AuditFigures {
  /** Changes that were acknowledged: the log has each of them. */
  acknowledged: number;
  /** Changes in flight at a kill, and those of them that were made and recorded. */
  unanswered: number;
  recordedUnanswered: number;
  entries: number;
  /** Lifts of bans that the log has as begun, and not as done. */
  begunOnly: number;
}

/** Throws at the first change that is not recorded, and the first entry without a change. */
export async function auditRounds(
  { operator, start }: AuditedStore,
  { rounds, seed, progress }: AuditRoundsOptions,
): Promise<AuditFigures> {
  const random = randomFrom(seed);
  const figures = { acknowledged: 0, unanswered: 0, recordedUnanswered: 0, entries: 0, begunOnly: 0 };
  const { token } = await addOperatorTo(operator.storage, 'admin');
  let last = 0n;
  for (let round = 1; round <= rounds; round++) {
    await using service = await start();
    const banned = await banKeys(operator, service.url);
    const load = new Operators(await consoleOf(service), token, banned);
    const running = load.run(operators, `round ${round}`, round * operators);
    const { least, most } = acknowledgedAtKill;
    const enough = least + Math.floor(random() * (most - least));
    await Promise.race([until(() => load.acknowledged.length >= enough), running]);
    service.signal('SIGKILL');
    await Promise.all([service.exited, running]);

    const entries = await allEntries(operator);
    checkChains(entries);
    await checkState(operator, entries);
    const ofRound = entries.filter(({ id, actor }) => id > last && actor.startsWith('operator:'));
    const more = checkRecorded(ofRound, load);
    figures.begunOnly += await checkBans(operator, ofRound, banned);
    figures.acknowledged += load.acknowledged.length;
    figures.unanswered += [...load.sent.values()].reduce(
      (sum, sent) => sum + sent,
      -load.acknowledged.length,
    );
    figures.recordedUnanswered += more;
    figures.entries = entries.length;
    last = entries.at(-1)?.id ?? last;
    progress?.(`round ${round}: ${load.acknowledged.length} acknowledged, ${more} more recorded`);
  }
  return figures;
}

/** Makes keys and lets their clients get themselves banned. */
async function banKeys({ accounts, keys, bans }: AdminServices, url: string): Promise<number[]> {
  const { id } = await accounts.create('crowd', 'enterprise', { perMinute: 1, perDay: 1 });
  const made = [];
  for (let number = 0; number < bansPerRound; number++) made.push(await keys.create(id, 'crowd'));
  const ask = ({ key }: { readonly key: string }) =>
    fetch(`${url}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } }).then((reply) => reply.text());
  await Promise.all(made.map((key) => until(async () => (await ask(key)).includes('api_key_banned'))));
  await until(
    async () => (await bans.list()).filter(({ accountId }) => accountId === id).length === made.length,
  );
  return made.map((key) => key.id);
}

/** In the order in which they were appended. */
async function allEntries({ storage }: AdminServices): Promise<AuditEntry[]> {
  const entries = await storage.audit.list(undefined, mostEntries, {});
  return entries.sort((one, other) => Number(one.id - other.id));
}

/** An order changes the status of its animal, which is not recorded with the animal. */
const comparable = (text: string | null) =>
  text?.replace(/"status":"(?:available|pending|sold)"/, '') ?? null;

const isOfBan = ({ operation }: AuditEntry) => /^(?:begin)?liftBan$/i.test(operation);

/** The state before each entry is the state after the previous entry of the same object. */
function checkChains(entries: readonly AuditEntry[]): void {
  const last = new Map<string, string | null>();
  for (const entry of entries.filter((one) => !isOfBan(one))) {
    const { id, operation, object, before, after } = entry;
    const known = last.get(object);
    if (known !== undefined && comparable(known) !== comparable(before)) {
      throw new Error(`${object} was ${known}, and ${before} before entry ${id} (${operation}).`);
    }
    last.set(object, after);
  }
}

/** What the log has of each object in the end is what the store has of it, and there is nothing that it does not have. */
async function checkState({ storage }: AdminServices, entries: readonly AuditEntry[]): Promise<void> {
  const all = 1_000_000;
  const stored = new Map<string, string>();
  const add = <Item extends { readonly id: bigint | number }>(
    kind: string,
    items: readonly Item[],
    json: (item: Item) => string,
  ) => {
    for (const item of items) stored.set(`${kind}:${item.id}`, json(item));
  };
  add('account', await storage.accounts.list(undefined, all), (account) =>
    JSON.stringify(shownAccount(account)),
  );
  add('key', await storage.keys.list(0, all), (key) => JSON.stringify(storedKey(key)));
  add('pet', await storage.pets.list(0n, all), petJson);
  add('order', await storage.orders.list(0n, all), orderJson);
  add('category', await storage.categories.list(undefined, all), categoryJson);
  const due = new Map(entries.filter((one) => !isOfBan(one)).map(({ object, after }) => [object, after]));
  for (const [object, after] of due) {
    const found = stored.get(object) ?? null;
    if (object.startsWith('operator:')) continue;
    if (comparable(found) !== comparable(after))
      throw new Error(`${object} is ${found}, and by the log ${after}.`);
  }
  const successors = new Set(
    [...due.values()].map((after) => `key:${/"successorId":(\d+)/.exec(after ?? '')?.[1]}`),
  );
  // The service itself made the first account and its key.
  const unrecorded = [...stored.keys()].filter((object) => !due.has(object) && !successors.has(object));
  const unknown = unrecorded.filter((object) => !['account:1', 'key:1'].includes(object));
  if (unknown.length > 0) throw new Error(`The log knows nothing of ${unknown.join(', ')}.`);
}

/** Each acknowledged change has one entry, and no operation has more entries than requests; returns how many were not acknowledged. */
function checkRecorded(entries: readonly AuditEntry[], { acknowledged, sent }: Operators): number {
  const named = ({ operation, object }: Change) => `${operation} of ${object}`;
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(named(entry), (counts.get(named(entry)) ?? 0) + 1);
  for (const change of acknowledged) {
    if ((counts.get(named(change)) ?? 0) === 0) throw new Error(`The log does not have ${named(change)}.`);
  }
  const made = entries.filter(({ operation }) => operation !== 'beginLiftBan');
  for (const [operation, those] of Map.groupBy(made, ({ operation: name }) => name)) {
    const most = sent.get(operation) ?? 0;
    if (those.length > most)
      throw new Error(`${operation} is recorded ${those.length} times, and ${most} were sent.`);
  }
  return made.length - acknowledged.length;
}

/** Each ban that is over was begun to be lifted, and each lifted one is over; returns how many were only begun. */
async function checkBans(
  { storage }: AdminServices,
  entries: readonly AuditEntry[],
  keyIds: readonly number[],
): Promise<number> {
  const lasting = new Set((await storage.limits.bans()).map(({ keyId }) => keyId));
  const recorded = new Set(entries.map(({ operation, object }) => `${operation} ${object}`));
  const begun = keyIds.filter((id) => recorded.has(`beginLiftBan key:${id}`));
  const lifted = keyIds.filter((id) => recorded.has(`liftBan key:${id}`));
  const lost = keyIds.find((id) => !lasting.has(id) && !begun.includes(id));
  if (lost !== undefined) throw new Error(`The ban on key ${lost} is over, and no lift of it was begun.`);
  const untrue = lifted.find((id) => lasting.has(id) || !begun.includes(id));
  if (untrue !== undefined) throw new Error(`The log says that the ban on key ${untrue} was lifted.`);
  return begun.length - lifted.length;
}
