import type { Database } from 'bun:sqlite';
import type { Clock } from '../../domain/clock.ts';
import type { LimitRules } from '../../domain/limit.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { Notice } from '../outage.ts';
import type { Admission, Caller, LimitStore, Storage, Versions } from '../storage.ts';
import { SqliteAccounts } from './accounts.ts';
import { ForeignChanges } from './changes.ts';
import { type Format, openDatabase } from './database.ts';
import { makeFile, openToOthers, storeFiles } from './files.ts';
import { FormatWatch } from './format-watch.ts';
import { limitsOf } from './former-limits.ts';
import { SqliteImports } from './imports.ts';
import { SqliteKeys } from './keys.ts';
import { LimitFile } from './limit-file.ts';
import { SqliteLimits } from './limits.ts';
import { dataFormat, limitFormat } from './migrations.ts';
import { SqlitePets } from './pets.ts';
import { lockOnce, tryLock } from './serving-lock.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process answers requests, and so counts them; only one may at a time. */
  readonly serving: boolean;
  /** Whether a store that is missing is made. */
  readonly create: boolean;
  readonly notice: Notice;
  /** The formats of the files, unless they are this version's. */
  readonly formats?: { readonly data: Format; readonly limits: Format };
}

/** How long a process that only manages the store waits for the lock of one that writes. */
const managingBusyTimeoutMs = 10_000;
/** How long it waits for another one that migrates the store. */
const managingLockWaitMs = 500;

/** A store's files, open. */
interface Opened extends Disposable {
  readonly data: Database;
  readonly limits: Database;
  readonly created: boolean;
}

/** The embedded store: one data file, and the limit state in a file beside it. Throws `StorageUnusable`. */
export function openSqlite(options: SqliteOptions): Storage {
  const { clock, rules, notice } = options;
  using opened = new DisposableStack();
  const files = opened.use(openFiles(options));
  const dataWatch = new FormatWatch(files.data, notice);
  const limitWatch = new FormatWatch(files.limits, notice);
  const dataChanges = new ForeignChanges(files.data, () => dataWatch.look());
  const limitChanges = new ForeignChanges(files.limits, () => limitWatch.look());

  const pets = new SqlitePets(files.data, dataWatch, notice);
  const accounts = new SqliteAccounts(files.data);
  const keys = new SqliteKeys(files.data, dataWatch);
  const limits = new SqliteLimits(
    new LimitFile(files.limits, limitWatch, clock, rules.ban),
    clock,
    rules,
    notice,
  );
  // The data file has one version for all that other processes changed; this one's own writes are told apart.
  const versions = (): Versions => {
    const foreign = dataChanges.count();
    dataWatch.check();
    return { callers: foreign + accounts.writes + keys.writes, pets: foreign + pets.writes };
  };
  const limitsVersion = (): number => {
    const foreign = limitChanges.count();
    limitWatch.check();
    return foreign;
  };
  const kept = opened.move();

  return {
    created: files.created,
    pets,
    accounts,
    keys,
    limits: observed(limits, limitsVersion, versions),
    imports: new SqliteImports(files.data, dataWatch, pets),
    health: () => {
      versions();
      limitsVersion();
      const found: Trouble[] = [];
      if (pets.trouble !== undefined) found.push(troubles.dataFile);
      if (limits.trouble !== undefined) found.push(troubles.limitFile);
      return found;
    },
    staleAtMostMs: 0,
    [Symbol.asyncDispose]: async () => {
      if (kept.disposed) return;
      await pets.idle();
      limits.close();
      kept.dispose();
    },
  };
}

/** A process that serves has the lock before it changes anything, and until its files are closed. */
function openFiles({ path, serving, create, notice, formats }: SqliteOptions): Opened {
  using opened = new DisposableStack();
  const { data: dataIs, limits: limitsAre } = formats ?? { data: dataFormat, limits: limitFormat };
  const files = storeFiles(path, create);
  const lock = serving ? lockOnce(files, opened) : () => tryLock(files, managingLockWaitMs);
  const data = openDatabase({
    path: files.data,
    format: dataIs,
    create,
    synchronous: 'FULL',
    busyTimeoutMs: serving ? 0 : managingBusyTimeoutMs,
    lock,
  });
  opened.defer(() => data.close());
  if (serving) lock();

  const limitsPath = limitsOf(files, lock);
  makeFile(limitsPath);
  const limits = openDatabase({
    path: limitsPath,
    format: limitsAre,
    create: true,
    synchronous: 'NORMAL',
    // No request waits for another process here; what cannot be written is written later.
    busyTimeoutMs: serving ? 0 : managingBusyTimeoutMs,
    lock,
  });
  opened.defer(() => limits.close());

  const open = serving ? openToOthers(files) : [];
  if (open.length > 0) {
    notice(
      `other users of this machine can access the store: ${open.join(', ')}; run chmod go= on these files to prevent it`,
    );
  }
  const kept = opened.move();
  return { data, limits, created: files.created, [Symbol.dispose]: () => kept.dispose() };
}

/** The limits, after a look whether another process changed callers or lifted a ban. */
function observed(limits: SqliteLimits, limitsVersion: () => number, versions: () => Versions): LimitStore {
  let seen = limitsVersion();
  return {
    versions,
    take(caller: Caller, callersVersion: number): Admission {
      const now = versions();
      if (now.callers !== callersVersion) return { verdict: undefined, versions: now };
      const version = limitsVersion();
      if (version !== seen) limits.forgetPenalties();
      seen = version;
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
