/**
 * A store shared by several instances. PostgreSQL stores the data. Redis stores the limits and announces changes.
 *
 * Consistency: every instance shows all changes that any instance has acknowledged. A statement that changes data also
 * raises a version in PostgreSQL. The change is announced by writing that version to Redis, and is acknowledged only
 * after that. Every request already calls Redis for rate limiting. The reply contains the current versions, and cached
 * pages and callers with older versions are reloaded.
 *
 * Events are visible in PostgreSQL before their changes are announced in Redis. After reading new events, an instance
 * therefore reads the versions and announces any that Redis lacks, before it returns the events. While Redis is down,
 * the instance waits for `maxStaleMs` instead. A client that receives an event and then requests the list therefore
 * sees the change, whichever instance responds.
 *
 * An announcement is lost if the instance that made the change cannot reach Redis or does not receive the result of the
 * commit. Every instance therefore polls the versions in PostgreSQL several times a second, and writes any missing
 * versions to Redis. An instance sees an acknowledged change within `maxStaleMs` if it can reach PostgreSQL, or if it
 * can reach Redis while any instance can reach both servers. If no instance can reach both servers, an instance that
 * can reach only Redis continues with its cached data.
 *
 * While Redis is down, each instance counts requests separately, starting from the last state it knows. Each instance
 * reads every page from the database, and uses cached callers as long as PostgreSQL confirms their version. Changes to
 * keys, accounts and plans are acknowledged only after `maxStaleMs`.
 *
 * In two cases, more requests may be admitted than the limit allows. While Redis is down, each instance may admit one
 * full limit per window, because instances do not know each other's counts. After Redis has lost its data, an account's
 * counts are restored from the last snapshot (taken every 10 s), or from the state known to the first instance that
 * sees the account again, whichever is newer; requests admitted since then are not counted. Strikes are lost in that
 * case, but bans are not: an account that is unknown to Redis is checked only after PostgreSQL has returned its saved
 * state, and instances restore bans that reached PostgreSQL later. If PostgreSQL does not respond, the instance uses
 * the last state it knows, or responds with 503 if it knows none.
 *
 * Requests are numbered, so that a request is counted exactly once even if Redis' reply is lost. Requests beyond Redis'
 * capacity wait in a queue. If a request waits too long, its client is asked to retry after a second; the instance does
 * not fall back to counting it locally.
 *
 * Redis may be a cluster, in which accounts are divided into shards. Each shard keeps a copy of the versions and all
 * keys of its accounts in one slot, so that a request is still counted in one round trip to one node. A change is
 * announced to every shard before it is acknowledged. If a node is down, each instance counts the requests for that
 * node's accounts separately, and uses the versions from another node. Failed authentications are counted only in
 * Redis; their counts restart at zero if Redis loses its data.
 */
import { hostname } from 'node:os';
import { maskUrl } from '../domain/mask-url.ts';
import { parseRedisUrls } from '../domain/redis-urls.ts';
import { maxStaleMs, pollIntervalMs, SharedVersions } from '../domain/shared-versions.ts';
import { fatalTroubles, type Trouble, troubles } from '../domain/troubles.ts';
import { RedisLimits } from '../limits/redis/limits.ts';
import { SharedRedis } from '../limits/redis/shared-redis.ts';
import { StorageUnavailable } from '../outages/errors.ts';
import { describeError, type Notify, Outage } from '../outages/outage.ts';
import { PeriodicTask } from '../outages/periodic-task.ts';
import type { StoreFacts } from '../storage/admin.ts';
import { PostgresChangedIds } from '../storage/postgres/changed-ids.ts';
import { PostgresDatabase } from '../storage/postgres/database.ts';
import { readFacts } from '../storage/postgres/facts.ts';
import { isTimeout } from '../storage/postgres/failures.ts';
import { adoptPrefix, type Identity, identifyProcess } from '../storage/postgres/identity.ts';
import { Lineage } from '../storage/postgres/lineage.ts';
import { createReads } from '../storage/postgres/reads.ts';
import { redisReadings } from '../storage/postgres/redis-readings.ts';
import { Replicas } from '../storage/postgres/replicas/replicas.ts';
import { ServerClock } from '../storage/postgres/server-clock.ts';
import { limitSnapshots } from '../storage/postgres/snapshots.ts';
import type { Runner } from '../storage/postgres/statements.ts';
import { readState, type ServerState } from '../storage/postgres/versions.ts';
import { type Announce, PostgresWriter } from '../storage/postgres/writer.ts';
import type { ReplicatedReads, StoreSettings } from '../storage/storage.ts';
import type { LimitedStore, LimitedStoreSettings } from './limited-store.ts';

export interface ClusterSettings {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly redisTimeoutMs: number;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly replicaUrls?: readonly string[];
}

type ClusterOptions = ClusterSettings & LimitedStoreSettings & { readonly url: string };

/** Throws `StoreUnusableError`. The store opens even if Redis is down. */
export async function openCluster(options: ClusterOptions): Promise<LimitedStore> {
  await using opened = new AsyncDisposableStack();
  const { isServing, create, migrates, units, notice, events } = options;
  const database = opened.use(new PostgresDatabase({ ...options, refusesStandby: migrates }));
  const clock = new ServerClock(options.clock, notice);
  const runner: Runner = { run: (statement) => database.read(statement) };
  let hasFormerInstances = false;
  const read = async () => {
    const state = await readPrimary(database, clock);
    ({ hasFormerInstances } = state);
    return state;
  };
  const { encryption, identity } = await retryOnce(notice, async () => {
    await database.migrate(create, migrates);
    // A failure is not fatal here, because the next statement reports it.
    await read().catch(() => undefined);
    const identity = await identifyProcess(database, { ...options, clock });
    return { identity, encryption: await database.encryption() };
  });
  const versions = new SharedVersions();
  const replicas = opened.use(createReplicas(options, database, versions) ?? null) ?? undefined;
  const lineage = opened.use(new Lineage(database, notice));
  const outage = new Outage('versions of cached data', notice);
  const poll = () => pollVersions(read, { database, versions, lineage, replicas, outage });
  if (isServing) opened.use(await startPolling(poll));
  else opened.use(new PeriodicTask(readClockEveryMs, read));
  // The store is served even if it could not be marked, because the next poll tries again.
  await lineage.settled();
  const { limits, sharedRedis } = await openRedis(options, { opened, database, clock, identity, versions });
  if (isServing) await retryOnce(notice, () => adoptPrefix(database, options.redisPrefix, notice));
  const announce: Announce = (resource, version) => limits.announce(resource, version);
  const writer = new PostgresWriter(database, units, announce, {
    ...{ secret: identity.process, events },
    hasFormerInstances: () => hasFormerInstances,
  });
  opened.defer(() => writer.idle());
  const reads = createReads(runner, isServing ? () => poll().then(() => limits.propagate()) : undefined);
  const resources = opened.move();
  return {
    encryption,
    clock,
    ...reads,
    ...(replicas && { replicated: replicatedReads(runner, replicas, reads) }),
    limits,
    changedIds: new PostgresChangedIds(runner, () => versions.now, versions.required),
    facts: async () => ({
      ...{ engine: 'PostgreSQL and Redis', encryption },
      ...{ ...(await readFacts(database)), ...replicas?.facts },
      ...{ ...(await readRedisFacts(limits)), ...writer.facts },
    }),
    write: (name, input) => writer.write(name, input),
    health: () => {
      sharedRedis.expectShared();
      const found = findTroubles(database, isServing ? versions : undefined, limits, replicas);
      return [...found, ...(clock.isOff ? [troubles.clock] : [])];
    },
    maxStaleMs: maxStaleMs,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Retries once after a timeout, so that a server that is briefly busy or locked does not prevent startup. */
async function retryOnce<T>(notice: Notify, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!isTimeout(error)) throw error;
    notice('PostgreSQL did not respond in time during startup; trying again');
    return open();
  }
}

interface RedisDependencies {
  /** Closes Redis when the store is closed. */
  readonly opened: AsyncDisposableStack;
  readonly database: PostgresDatabase;
  readonly clock: ServerClock;
  readonly identity: Identity;
  readonly versions: SharedVersions;
}

async function openRedis(
  {
    redisUrl,
    redisPrefix,
    redisTimeoutMs: timeoutMs,
    rules,
    isServing,
    notice,
  }: ClusterSettings & LimitedStoreSettings,
  { opened, database, clock, identity: { store, process }, versions }: RedisDependencies,
) {
  const sharedRedis = opened.use(
    new SharedRedis({
      process,
      origin: `${maskUrl(redisUrl)} on ${hostname()}`,
      readings: redisReadings(database),
      identity: (proposed) => limits.servers.identity(proposed),
      notice,
    }),
  );
  const limits: RedisLimits = opened.use(
    new RedisLimits({
      urls: parseRedisUrls(redisUrl),
      // The prefix contains the store's id, because several stores may share a Redis server.
      prefix: `${redisPrefix}${store}:`,
      snapshots: limitSnapshots(database),
      expectShared: () => sharedRedis.expectShared(),
      ...{ process, timeoutMs, clock, rules, versions, isServing, notice },
    }),
  );
  await limits.open();
  await (isServing ? sharedRedis.open() : sharedRedis.openForCommand());
  return { limits, sharedRedis };
}

/**
 * Management commands read from the primary. Without Redis, a command cannot tell which versions a replica must have.
 */
function createReplicas(
  { replicaUrls: urls = [], poolSize, isServing, notice }: ClusterSettings & StoreSettings,
  database: PostgresDatabase,
  versions: SharedVersions,
): Replicas | undefined {
  if (!isServing || urls.length === 0) return undefined;
  return new Replicas({ urls, poolSize, database, versions, notice });
}

/**
 * All other resources are read from the primary: some columns of webhooks and deliveries change without raising a
 * version.
 */
function replicatedReads(runner: Runner, { select }: Replicas, primary: ReplicatedReads): ReplicatedReads {
  const { pets, orders, categories } = createReads({ ...runner, select });
  return { ...primary, pets, orders, categories };
}

/**
 * Throws `StorageUnavailable` if neither PostgreSQL nor Redis is available, because no request can be served. `versions` is
 * defined only in processes that poll them.
 */
function findTroubles(
  database: PostgresDatabase,
  versions: SharedVersions | undefined,
  { servers }: RedisLimits,
  replicas: Replicas | undefined,
): Trouble[] {
  const isSilent = versions !== undefined && database.silentMs >= lostAfterMs;
  // A server that is slow, or rejects only some statements or new connections, still serves other requests.
  const isLost = !database.isReachable || isSilent;
  const isCutOff = isLost && servers.anyAvailable() === undefined;
  if (isCutOff) throw new StorageUnavailable(fatalTroubles.serversLost);
  const found: Trouble[] = [];
  const isOutdated = versions?.isConfirmed === false;
  if (database.trouble !== undefined || isOutdated) found.push(troubles.postgres);
  if (replicas?.isTroubled) found.push(troubles.replica);
  if (servers.trouble !== undefined) found.push(servers.anyAvailable() ? troubles.redisPart : troubles.redis);
  return found;
}

async function readRedisFacts({ servers }: RedisLimits): Promise<StoreFacts> {
  return {
    redisVersion: servers.version ?? null,
    redisTrouble: servers.trouble ?? null,
    redisRequests: servers.roundTrips.count,
    redisSeconds: servers.roundTrips.seconds,
  };
}

/** If no statement has succeeded for this time, PostgreSQL counts as unavailable, even if none has timed out. */
const lostAfterMs = 5_000;

/** Interval at which a process that does not poll the versions, such as a supervisor, reads the server's clock. */
const readClockEveryMs = 10_000;

interface PollTargets {
  readonly database: PostgresDatabase;
  readonly versions: SharedVersions;
  readonly lineage: Lineage;
  readonly replicas: Replicas | undefined;
  /** Tables that only these reads need may be locked. */
  readonly outage: Outage;
}

async function readPrimary(database: PostgresDatabase, clock: ServerClock): Promise<ServerState> {
  const sentAt = clock.steady();
  const state = await readState({ run: (statement) => database.read(statement) });
  const { now, clockSteps } = state;
  const steps = clock.apply(now, sentAt, clockSteps);
  // A failure is not fatal, because the next reading detects the step again.
  if (steps !== undefined) await recordClockSteps(database, clockSteps, steps).catch(() => undefined);
  return state;
}

/** Does nothing if another process has recorded a step in the meantime. */
async function recordClockSteps(database: PostgresDatabase, before: number, after: number): Promise<void> {
  await database.write(
    (sql) => sql`UPDATE store SET clock_steps_ms = ${after} WHERE clock_steps_ms = ${before}`,
  );
}

async function pollVersions(
  read: () => Promise<ServerState>,
  { database, versions, lineage, replicas, outage }: PollTargets,
): Promise<void> {
  const askedAt = performance.now();
  const state = await read().catch((error) => {
    // An outage of the database is already reported, and a short one makes no difference.
    if (database.trouble === undefined && !versions.isConfirmed) outage.begin(describeError(error));
    throw error;
  });
  outage.end();
  if (state.isStandby) {
    // Rows that were read since the last poll may be outdated.
    versions.raiseAll();
    database.refuseStandby();
  }
  versions.applyPostgres(state.versions, askedAt);
  const isMarked = lineage.isMarked(state, askedAt);
  replicas?.applyPrimary(isMarked ? state : undefined);
}

async function startPolling(poll: () => Promise<void>): Promise<PeriodicTask> {
  // A failed poll does not prevent startup, because /readyz reports the failure.
  await poll().catch(() => undefined);
  return new PeriodicTask(pollIntervalMs, poll);
}
