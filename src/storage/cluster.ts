/**
 * The store of several instances: PostgreSQL has the data, Redis the limits and the word that something changed.
 *
 * Why what one instance acknowledged, every instance shows: a change is committed, then announced (its version in
 * Redis rises), then acknowledged. Every request asks Redis anyway, to be counted; the answer brings the versions, and
 * a page or caller read under an older one is read again.
 *
 * While Redis is away each instance counts alone, from what it last knew, and believes no cache: pages are read from
 * the database each time, callers at least once a second, and who changes callers waits that second before the
 * acknowledgement. A new connection raises both versions before it is used. What remains: an instance that reaches
 * Redis does not notice the changes of one that does not, until that one is connected again.
 *
 * How much is admitted over the limit: while Redis is away, at most one limit per window and instance, for none knows
 * of the others. After Redis lost its memory, in the running windows at most what was admitted since the last snapshot
 * (every 10 s) and since the last request of the account on the instance that meets it first. Strikes are lost then,
 * bans are not. A request under way when Redis stops answering may be charged twice.
 *
 * It takes one Redis primary, with replicas for its failure if need be; Redis Cluster spreads keys over several, and
 * the versions have to come with every count. Strangers' failures are counted in Redis only, and begin anew with it.
 */
import type { Clock } from '../domain/clock.ts';
import type { LimitRules } from '../domain/limit.ts';
import type { Notice } from './outage.ts';
import { PostgresAccounts } from './postgres/accounts.ts';
import { PostgresDatabase } from './postgres/database.ts';
import { PostgresImports } from './postgres/imports.ts';
import { PostgresKeys } from './postgres/keys.ts';
import { PostgresPets } from './postgres/pets.ts';
import { PostgresSnapshots } from './postgres/snapshots.ts';
import { RedisLimits } from './redis/limits.ts';
import type { Storage } from './storage.ts';

/** Where the servers are, and how long they are waited for. */
export interface ClusterSettings {
  readonly redisUrl: string;
  /** Begins every key in Redis. */
  readonly redisPrefix: string;
  readonly redisTimeoutMs: number;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
}

export interface ClusterOptions extends ClusterSettings {
  readonly url: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process answers requests. */
  readonly serving: boolean;
  readonly notice: Notice;
}

/** Throws `StorageUnusable`. A Redis that is not there does not keep the store from opening. */
export async function openCluster(options: ClusterOptions): Promise<Storage> {
  await using opened = new AsyncDisposableStack();
  const { url, clock, rules, serving, notice, poolSize, statementTimeoutMs } = options;
  const { redisUrl, redisPrefix: prefix, redisTimeoutMs: timeoutMs } = options;
  const database = opened.use(new PostgresDatabase({ url, poolSize, statementTimeoutMs, notice }));
  await database.migrate();
  const encryption = await database.encryption();
  const memory = new PostgresSnapshots(database);
  const limits = opened.use(
    new RedisLimits({ url: redisUrl, prefix, timeoutMs, clock, rules, memory, serving, notice }),
  );
  await limits.open();

  const announceCallers = () => limits.announce('callers');
  const announcePets = () => limits.announce('pets');
  const pets = new PostgresPets(database, announcePets);
  opened.defer(() => pets.idle());
  const kept = opened.move();
  return {
    encryption,
    pets,
    accounts: new PostgresAccounts(database, announceCallers),
    keys: new PostgresKeys(database, announceCallers),
    limits,
    imports: new PostgresImports(database, announcePets),
    health: async () => {
      const troubles = [database.trouble, await limits.trouble()];
      return troubles.filter((trouble) => trouble !== undefined);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
