import type { Clock } from '../../domain/clock.ts';
import type { LimitRules } from '../../domain/limit.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { Admission, Caller, LimitStore, Storage, Versions } from '../storage.ts';
import { SqliteAccounts } from './accounts.ts';
import { ForeignChanges } from './changes.ts';
import { openDatabase } from './database.ts';
import { SqliteImports } from './imports.ts';
import { SqliteKeys } from './keys.ts';
import { SqliteLimits } from './limits.ts';
import { dataMigrations, limitMigrations } from './migrations.ts';
import { SqlitePets } from './pets.ts';
import { lockForServing } from './serving-lock.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process answers requests, and so counts them; only one may at a time. */
  readonly serving: boolean;
}

/** How long a process that only manages the store waits for the lock of one that writes. */
const managingBusyTimeoutMs = 10_000;

/** The embedded store: one data file, and the limit state in a file beside it. Throws `StorageUnusable`. */
export function openSqlite({ path, clock, rules, serving }: SqliteOptions): Storage {
  using opened = new DisposableStack();
  const migrations = dataMigrations;
  const busyTimeoutMs = serving ? 0 : managingBusyTimeoutMs;
  const data = openDatabase({ path, migrations, synchronous: 'FULL', busyTimeoutMs });
  opened.defer(() => data.close());
  if (serving) opened.use(lockForServing(path));
  const limitFile = openDatabase({
    path: `${path.replace(/\.db$/, '')}.limits.db`,
    migrations: limitMigrations,
    synchronous: 'NORMAL',
    busyTimeoutMs: 50,
  });
  opened.defer(() => limitFile.close());

  const pets = new SqlitePets(data);
  const accounts = new SqliteAccounts(data);
  const keys = new SqliteKeys(data);
  const limits = new SqliteLimits(limitFile, clock, rules);
  const dataChanges = new ForeignChanges(data);
  const limitChanges = new ForeignChanges(limitFile);
  // The data file has one version for all that other processes changed; this one's own writes are told apart.
  const versions = (): Versions => {
    const foreign = dataChanges.count();
    return { callers: foreign + accounts.writes + keys.writes, pets: foreign + pets.writes };
  };
  const kept = opened.move();

  return {
    pets,
    accounts,
    keys,
    limits: observed(limits, limitChanges, versions),
    imports: new SqliteImports(data, pets),
    health: () => {
      const found: Trouble[] = [];
      if (pets.trouble !== undefined) found.push(troubles.dataFile);
      if (limits.trouble !== undefined) found.push(troubles.limitFile);
      return found;
    },
    staleAtMostMs: 0,
    [Symbol.asyncDispose]: async () => {
      await pets.idle();
      limits.flush();
      kept.dispose();
    },
  };
}

/** The limits, after a look whether another process changed callers or lifted a ban. */
function observed(limits: SqliteLimits, changes: ForeignChanges, versions: () => Versions): LimitStore {
  let seen = changes.count();
  return {
    versions,
    take(caller: Caller, callersVersion: number): Admission {
      const now = versions();
      if (now.callers !== callersVersion) return { verdict: undefined, versions: now };
      if (changes.count() !== seen) limits.forgetConduct();
      seen = changes.count();
      return { verdict: limits.take(caller), versions: now };
    },
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    failUnder: (address, callersVersion) =>
      versions().callers === callersVersion ? limits.fail(address) : undefined,
    peek: (address) => limits.peek(address),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
  };
}
