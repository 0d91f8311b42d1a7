import type { Database } from 'bun:sqlite';
import type { Clock } from '../../domain/clock.ts';
import type { LimitRules } from '../../domain/limit.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { Notice } from '../outage.ts';
import type { Admission, Caller, LimitStore, Storage, Versions } from '../storage.ts';
import { SqliteAccounts } from './accounts.ts';
import { ForeignChanges } from './changes.ts';
import { type Format, openDatabase } from './database.ts';
import { openToOthers, storeFiles } from './files.ts';
import { FormatWatch } from './format-watch.ts';
import { SqliteImports } from './imports.ts';
import { SqliteKeys } from './keys.ts';
import { type Limits, openLimits } from './limit-opening.ts';
import { dataFormat } from './migrations.ts';
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
  /** The format of the data file, unless it is this version's. */
  readonly format?: Format;
}

/** How long a process that only manages the store waits for the lock of one that writes. */
const managingBusyTimeoutMs = 10_000;
/** How long it waits for another one that migrates the store. */
const managingLockWaitMs = 500;

/** A store's files, open. */
interface Opened extends Disposable {
  readonly data: Database;
  readonly limits: Limits;
  readonly created: boolean;
}

/** The embedded store: one data file, and the limit state in a file beside it. Throws `StorageUnusable`. */
export function openSqlite(options: SqliteOptions): Storage {
  const { notice } = options;
  using opened = new DisposableStack();
  const files = opened.use(openFiles(options));
  const dataWatch = new FormatWatch(files.data, notice);
  const dataChanges = new ForeignChanges(files.data, () => dataWatch.look());

  const pets = new SqlitePets(files.data, dataWatch, notice);
  const accounts = new SqliteAccounts(files.data);
  const keys = new SqliteKeys(files.data, dataWatch);
  const { limits } = files;
  // The data file has one version for all that other processes changed; this one's own writes are told apart.
  const versions = (): Versions => {
    const foreign = dataChanges.count();
    dataWatch.check();
    return { callers: foreign + accounts.writes + keys.writes, pets: foreign + pets.writes };
  };
  const kept = opened.move();

  return {
    created: files.created,
    pets,
    accounts,
    keys,
    limits: versioned(limits, versions),
    imports: new SqliteImports(files.data, dataWatch, pets),
    health: () => {
      versions();
      const found: Trouble[] = [];
      if (pets.trouble !== undefined) found.push(troubles.dataFile);
      if (limits.trouble !== undefined) found.push(troubles.limitFile);
      return found;
    },
    staleAtMostMs: 0,
    [Symbol.asyncDispose]: async () => {
      if (kept.disposed) return;
      await pets.idle();
      await limits.close();
      kept.dispose();
    },
  };
}

/** A process that serves has the lock before it changes anything, and until its files are closed. */
function openFiles(options: SqliteOptions): Opened {
  const { path, clock, rules, serving, create, notice, format = dataFormat } = options;
  using opened = new DisposableStack();
  const files = storeFiles(path, create);
  const lock = serving ? lockOnce(files, opened) : () => tryLock(files, managingLockWaitMs);
  const data = openDatabase({
    path: files.data,
    format,
    create,
    synchronous: 'FULL',
    busyTimeoutMs: serving ? 0 : managingBusyTimeoutMs,
    lock,
  });
  opened.defer(() => data.close());
  if (serving) lock();

  const role = serving ? 'serving' : 'beside';
  const lastAccountId = lastAccount(data);
  const limits = openLimits({ files, role, clock, rules, notice, lock, lastAccountId });
  const open = serving ? openToOthers(files) : [];
  if (open.length > 0) {
    notice(
      `other users of this machine can access the store: ${open.join(', ')}; run chmod go= on these files to prevent it`,
    );
  }
  const kept = opened.move();
  return { data, limits, created: files.created, [Symbol.dispose]: () => kept.dispose() };
}

function lastAccount(data: Database): number {
  const [row] = data.query<{ id: bigint | null }, []>('SELECT max(id) AS id FROM accounts').all();
  return Number(row?.id ?? 0);
}

/** The limits of callers as they were read. */
function versioned(limits: Limits, versions: () => Versions): LimitStore {
  return {
    versions,
    take(caller: Caller, callersVersion: number): Admission {
      const now = versions();
      if (now.callers !== callersVersion) return { verdict: undefined, versions: now };
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
