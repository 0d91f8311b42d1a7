/** The store of several instances: PostgreSQL has the data, Redis the limits and the word that something changed. */
import type { Clock } from '../domain/clock.ts';
import type { LimitRules } from '../domain/limit.ts';
import type { Notice } from './breaker.ts';
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
  readonly notice: Notice;
}

/** Throws `StorageUnusable`. A Redis that is not there does not keep the store from opening. */
export async function openCluster(options: ClusterOptions): Promise<Storage> {
  await using opened = new AsyncDisposableStack();
  const { url, clock, rules, notice, poolSize, statementTimeoutMs } = options;
  const { redisUrl, redisPrefix: prefix, redisTimeoutMs: timeoutMs } = options;
  const database = opened.use(new PostgresDatabase({ url, poolSize, statementTimeoutMs, notice }));
  await database.migrate();
  const memory = new PostgresSnapshots(database);
  const limits = opened.use(
    new RedisLimits({ url: redisUrl, prefix, timeoutMs, clock, rules, memory, notice }),
  );
  await limits.open();

  const announceCallers = () => limits.announce('callers');
  const announcePets = () => limits.announce('pets');
  const pets = new PostgresPets(database, announcePets);
  opened.defer(() => pets.idle());
  const kept = opened.move();
  return {
    pets,
    accounts: new PostgresAccounts(database, announceCallers),
    keys: new PostgresKeys(database, announceCallers),
    limits,
    imports: new PostgresImports(database, announcePets),
    health: async () => {
      const troubles = await Promise.all([database.trouble(), limits.trouble()]);
      return troubles.filter((trouble) => trouble !== undefined);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
