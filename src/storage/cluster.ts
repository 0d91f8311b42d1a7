/**
 * The store of several instances. PostgreSQL has the data; Redis has the limits and announces changes.
 *
 * Consistency across instances: every instance shows what any instance has acknowledged. A statement that changes data
 * also raises a version in PostgreSQL. The change is announced by writing that version to Redis, and only then
 * acknowledged. Every request calls Redis anyway, to be counted. The reply contains the versions, and a page or caller
 * that was read under other versions is read again.
 *
 * Events are visible in PostgreSQL before their changes are announced in Redis. An instance that reads new events
 * therefore reads the versions after them, and announces those that Redis lacks, before it returns the events. Without
 * Redis, it waits `maxStaleMs`. So a list that is requested after an event shows its change, on every instance.
 *
 * An announcement can be lost: the instance that made the change does not reach Redis, or it did not receive the result
 * of the commit. Every instance therefore polls the versions in PostgreSQL several times a second, and writes those to
 * Redis that it lacks. An acknowledged change is hidden for at most `maxStaleMs` from an instance that reaches
 * PostgreSQL, or that reaches Redis while any instance reaches both. An instance that only reaches Redis, when none
 * reaches both, continues with its cached data.
 *
 * While Redis is down, each instance counts alone, from the last state it knew. It reads every page from the database,
 * and uses cached callers while PostgreSQL confirms their version. A change of callers is acknowledged after
 * `maxStaleMs`.
 *
 * Requests admitted over the limit: while Redis is down, at most one limit per window and instance, because instances
 * do not know each other's counts. After Redis lost its data, at most the requests of the running windows that were
 * admitted since the last snapshot (every 10 s) and since the account's last request on the first instance to see it
 * again. Strikes are lost then, but bans are not: an account that is unknown to Redis is checked only after PostgreSQL
 * has returned its saved state, and instances restore bans that reached PostgreSQL later. If PostgreSQL does not
 * answer, the instance decides from the state it knows, or responds with 503.
 *
 * Requests are numbered, so that one that Redis counted without a reply is charged once. Requests beyond the capacity
 * of Redis wait, and are then asked to retry after a second. They are not counted by the instance alone.
 *
 * Redis may be a cluster. Accounts are then divided into shards, each with a copy of the versions and all other keys of
 * its accounts in one slot, so that a request is still counted in one round trip to one node. A change is announced to
 * every shard before it is acknowledged. If a node is down, so are its shards, with the consequences above: each
 * instance counts their accounts alone, with the versions of another shard. Failures of clients without a valid key are
 * counted in Redis only, and start at zero if it loses them.
 */
import { redisUrlsOf } from '../domain/redis-urls.ts';
import { type Trouble, troubles } from '../domain/trouble.ts';
import { accounts, keys } from '../tables/accounts.ts';
import { imports } from '../tables/imports.ts';
import { sessions } from '../tables/operators.ts';
import { pets } from '../tables/pets.ts';
import { entities } from '../tables/tables.ts';
import type { StoreFacts } from './admin.ts';
import { entitiesOf } from './entity.ts';
import { PeriodicTask } from './periodic-task.ts';
import { PostgresChangedIds } from './postgres/changed-ids.ts';
import { PostgresDatabase } from './postgres/database.ts';
import { PostgresAccounts } from './postgres/entities/accounts.ts';
import { PostgresAudit } from './postgres/entities/audit.ts';
import { PostgresDeliveries } from './postgres/entities/deliveries.ts';
import { PostgresEntity } from './postgres/entities/entity.ts';
import { PostgresEvents, type Spread } from './postgres/entities/events.ts';
import { PostgresImports } from './postgres/entities/imports.ts';
import { PostgresKeys } from './postgres/entities/keys.ts';
import { PostgresPets } from './postgres/entities/pets.ts';
import { PostgresSearch } from './postgres/entities/search.ts';
import { PostgresUsage } from './postgres/entities/usage.ts';
import { factsOf } from './postgres/facts.ts';
import { identify } from './postgres/identity.ts';
import { Replicas } from './postgres/replicas/replicas.ts';
import { PostgresSnapshots } from './postgres/snapshots.ts';
import type { Runner } from './postgres/statements.ts';
import { readState } from './postgres/versions.ts';
import { type Announce, PostgresWriter } from './postgres/writer.ts';
import { RedisLimits } from './redis/limits.ts';
import { maxStaleMs, pollIntervalMs, SharedVersions } from './shared-versions.ts';
import type { EntityStores, ReplicatedReads, Storage, StoreSettings } from './storage.ts';

export interface ClusterSettings {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly redisTimeoutMs: number;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly replicaUrls?: readonly string[];
}

/** Throws `StorageUnusable`. The store also opens without Redis. */
export async function openCluster(
  options: ClusterSettings & StoreSettings & { url: string },
): Promise<Storage> {
  await using opened = new AsyncDisposableStack();
  const { url, clock, rules, serving, create, units, notice, events } = options;
  const { redisUrl, redisTimeoutMs: timeoutMs, poolSize, statementTimeoutMs } = options;
  const database = opened.use(new PostgresDatabase({ url, poolSize, statementTimeoutMs, notice }));
  await database.migrate(create);
  const encryption = await database.encryption();
  const identity = await identify(database, options.redisPrefix, { serving, notice, clock });
  const versions = new SharedVersions();
  const runner: Runner = { run: (statement) => database.read(statement) };
  const replicas = opened.use(replicasOf(options, database, versions) ?? null) ?? undefined;
  const poll = () => pollVersions(runner, versions, replicas);
  if (serving) opened.use(await watch(poll));
  const snapshots = new PostgresSnapshots(database);
  const limits = opened.use(
    new RedisLimits({
      urls: redisUrlsOf(redisUrl),
      // Names the keys of this store, because several stores may share a Redis.
      prefix: `${options.redisPrefix}${identity.store}:`,
      process: identity.process,
      timeoutMs,
      clock,
      rules,
      snapshots,
      versions,
      serving,
      notice,
    }),
  );
  await limits.open();

  const announce: Announce = (resource, version) => limits.announce(resource, version);
  const writer = new PostgresWriter(database, units, announce, { secret: identity.process, events });
  opened.defer(() => writer.idle());
  const reads = readsOf(runner, serving ? () => poll().then(() => limits.spread()) : undefined);
  const kept = opened.move();
  return {
    encryption,
    ...reads,
    ...(replicas && { replicated: replicatedReads(runner, replicas, reads) }),
    limits,
    changedIds: new PostgresChangedIds(runner, () => versions.now, versions.required),
    facts: async () => {
      const [postgres, redis] = await Promise.all([factsOf(database), redisFactsOf(limits)]);
      const engine = 'PostgreSQL and Redis';
      return { engine, encryption, ...postgres, ...replicas?.facts, ...redis, ...writer.facts };
    },
    write: (name, input) => writer.write(name, input),
    health: () => {
      const isLost = database.trouble !== undefined || (serving && !versions.isConfirmed);
      return troublesOf(isLost, limits, replicas);
    },
    maxStaleMs: maxStaleMs,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export function readsOf(runner: Runner, spread?: Spread) {
  return {
    ...entitiesOf<EntityStores>(entities, (table) => new PostgresEntity(table, runner)),
    pets: new PostgresPets(pets, runner),
    accounts: new PostgresAccounts(accounts, runner),
    keys: new PostgresKeys(keys, runner),
    deliveries: new PostgresDeliveries(runner),
    events: new PostgresEvents(runner, spread),
    imports: new PostgresImports(imports, runner),
    sessions: new PostgresEntity(sessions, runner),
    audit: new PostgresAudit(runner),
    usage: new PostgresUsage(runner),
    search: new PostgresSearch(runner),
  };
}

/** Commands read the primary: they do not call Redis, so they do not know which version a replica must have. */
function replicasOf(
  { replicaUrls: urls = [], poolSize, serving, notice }: ClusterSettings & StoreSettings,
  database: PostgresDatabase,
  versions: SharedVersions,
): Replicas | undefined {
  if (!serving || urls.length === 0) return undefined;
  return new Replicas({ urls, poolSize, database, versions, notice });
}

/** Columns of webhooks change without a version, like deliveries, so they are read from the primary. */
function replicatedReads(runner: Runner, { select }: Replicas, primary: ReplicatedReads): ReplicatedReads {
  const { pets, orders, categories } = readsOf({ ...runner, select });
  const { webhooks, deliveries } = primary;
  return { pets, orders, categories, webhooks, deliveries };
}

function troublesOf(isLost: boolean, { servers }: RedisLimits, replicas: Replicas | undefined): Trouble[] {
  const found: Trouble[] = [];
  if (isLost) found.push(troubles.postgres);
  if (replicas?.isTroubled) found.push(troubles.replica);
  if (servers.trouble !== undefined) found.push(servers.anyAvailable() ? troubles.redisPart : troubles.redis);
  return found;
}

async function redisFactsOf({ servers }: RedisLimits): Promise<StoreFacts> {
  return {
    redisVersion: (await servers.version()) ?? null,
    redisTrouble: servers.trouble ?? null,
    redisRequests: servers.roundTrips.count,
    redisSeconds: servers.roundTrips.seconds,
  };
}

async function pollVersions(runner: Runner, versions: SharedVersions, replicas?: Replicas): Promise<void> {
  const askedAt = performance.now();
  const state = await readState(runner);
  versions.applyPostgres(state.versions, askedAt);
  replicas?.applyPrimary(state);
}

async function watch(poll: () => Promise<void>): Promise<PeriodicTask> {
  // A failure here does not prevent the start, because /readyz reports it.
  await poll().catch(() => undefined);
  return new PeriodicTask(pollIntervalMs, poll);
}
