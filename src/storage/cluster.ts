/**
 * The store of several instances: PostgreSQL has the data, Redis the limits and the word that something changed.
 *
 * Why what one instance acknowledged, every instance shows: a change moves a version in PostgreSQL in the statement
 * that makes it, is then announced (Redis is told that version), then acknowledged. Every request asks Redis anyway, to
 * be counted; the answer brings the versions, and a page or caller read under another one is read again.
 *
 * Events are visible in PostgreSQL before their changes are announced in Redis. An instance that reads new ones therefore
 * reads the versions after them, and announces those that Redis lacks, before it returns them; without Redis, it waits
 * `staleAtMostMs`. So a list that is requested after an event shows its change, on every instance.
 *
 * Redis may not be told: it is away for who made the change, or the answer of the commit was lost. So every instance
 * also looks at the versions in PostgreSQL several times a second, and tells Redis what it does not know. Nothing
 * acknowledged is hidden for longer than `staleAtMostMs` from an instance that reaches PostgreSQL, or that reaches Redis
 * while any instance reaches both. One that only reaches Redis, with none that reaches both, goes on with what it holds.
 *
 * While Redis is away each instance counts alone, from what it last knew. It reads pages from the database each time, and
 * believes callers while PostgreSQL tells that they are as they were; who changes callers waits `staleAtMostMs` before
 * the acknowledgement.
 *
 * How much is admitted over the limit: while Redis is away, at most one limit per window and instance, for none knows
 * of the others. After Redis lost its memory, in the running windows at most what was admitted since the last snapshot
 * (every 10 s) and since the last request of the account on the instance that meets it first. Strikes are lost then,
 * bans are not: an account Redis does not know is checked when PostgreSQL has said what there was of it, and instances
 * put back a ban that PostgreSQL got later. Without its answer the account is decided from what the instance knows, or
 * told to come again (503).
 *
 * Requests are numbered, so that one that Redis counted and did not answer is charged once. More requests than Redis can
 * be asked in time wait, and are told to come again after a second; they are not counted alone.
 *
 * It takes one Redis primary, with replicas for its failure if need be; Redis Cluster spreads keys over several, and
 * the versions have to come with every count. Strangers' failures are counted in Redis only, and begin anew with it.
 */
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
import { PostgresUsage } from './postgres/entities/usage.ts';
import { factsOf } from './postgres/facts.ts';
import { identify } from './postgres/identity.ts';
import { PostgresSnapshots } from './postgres/snapshots.ts';
import type { Runner } from './postgres/statements.ts';
import { readVersions } from './postgres/versions.ts';
import { PostgresWriter } from './postgres/writer.ts';
import { RedisLimits } from './redis/limits.ts';
import { lookEveryMs, SharedVersions, staleAtMostMs } from './shared-versions.ts';
import type { EntityStores, Storage, StoreSettings } from './storage.ts';

export interface ClusterSettings {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly redisTimeoutMs: number;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
}

/** Throws `StorageUnusable`. A Redis that is not there does not keep the store from opening. */
export async function openCluster(
  options: ClusterSettings & StoreSettings & { url: string },
): Promise<Storage> {
  await using opened = new AsyncDisposableStack();
  const { url, clock, rules, serving, create, units, notice, events } = options;
  const { redisUrl, redisTimeoutMs: timeoutMs, poolSize, statementTimeoutMs } = options;
  const database = opened.use(new PostgresDatabase({ url, poolSize, statementTimeoutMs, notice }));
  await database.migrate(create);
  const encryption = await database.encryption();
  const identity = await identify(database, options.redisPrefix, { serving, notice });
  const versions = new SharedVersions();
  const runner: Runner = { run: (statement) => database.read(statement) };
  const look = () => hearVersions(runner, versions);
  if (serving) opened.use(await watch(look));
  const snapshots = new PostgresSnapshots(database);
  const limits = opened.use(
    new RedisLimits({
      url: redisUrl,
      // Stores that share a Redis share nothing in it.
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

  const writer = new PostgresWriter(
    database,
    units,
    (resource, version) => limits.announce(resource, version),
    { secret: identity.process, events },
  );
  opened.defer(() => writer.idle());
  const kept = opened.move();
  return {
    encryption,
    ...readsOf(runner, serving ? () => look().then(() => limits.spread()) : undefined),
    limits,
    changedIds: new PostgresChangedIds(runner, () => versions.now),
    facts: async () => {
      const [postgres, redis] = await Promise.all([factsOf(database), redisFactsOf(limits)]);
      return { engine: 'PostgreSQL and Redis', encryption, ...postgres, ...redis, ...writer.facts };
    },
    write: (name, input) => writer.write(name, input),
    health: () => {
      const found: Trouble[] = [];
      if (database.trouble !== undefined || (serving && !versions.isConfirmed)) found.push(troubles.postgres);
      if (limits.link.trouble !== undefined) found.push(troubles.redis);
      return found;
    },
    staleAtMostMs,
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
  };
}

async function redisFactsOf({ link }: RedisLimits): Promise<StoreFacts> {
  return {
    redisVersion: (await link.version()) ?? null,
    redisTrouble: link.trouble ?? null,
    redisRequests: link.roundTrips.count,
    redisSeconds: link.roundTrips.seconds,
  };
}

async function hearVersions(runner: Runner, versions: SharedVersions): Promise<void> {
  const askedAt = performance.now();
  versions.hearPostgres(await readVersions(runner), askedAt);
}

async function watch(look: () => Promise<void>): Promise<PeriodicTask> {
  // That it fails now is no reason not to start: /readyz says so.
  await look().catch(() => undefined);
  return new PeriodicTask(lookEveryMs, look);
}
