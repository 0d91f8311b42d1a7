import type { Database } from 'bun:sqlite';
import type { Clock } from '../../domain/clock.ts';
import type { LimitRules } from '../../domain/limit.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { Notice } from '../outage.ts';
import type { Port } from '../port.ts';
import type { Admission, Caller, LimitStore, Storage } from '../storage.ts';
import type { Units } from '../transaction.ts';
import { SqliteAccounts } from './accounts.ts';
import { SqliteAudit } from './audit.ts';
import { finishRestore, isUnfinished } from './backup/restored-limits.ts';
import { SqliteCategories } from './categories.ts';
import { connectWriter, type WriterPlace } from './connect-writer.ts';
import { type Format, openDatabase } from './database.ts';
import { SqliteFacts } from './facts.ts';
import { openToOthers, storeFiles } from './files.ts';
import { FormatWatch } from './format-watch.ts';
import { SqliteImports } from './imports.ts';
import { SqliteInstances } from './instances.ts';
import { SqliteKeys } from './keys.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/open-limits.ts';
import { dataFormat } from './migrations.ts';
import { SqliteOperators } from './operators.ts';
import { SqliteOrders } from './orders.ts';
import { SqlitePets } from './pets.ts';
import { lockOnce, tryLock } from './serving-lock.ts';
import { SqliteSessions } from './sessions.ts';
import { Snapshot } from './snapshot.ts';
import { SqliteUsage } from './usage.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process belongs to the service: it answers requests, or supervises workers that do. */
  readonly serving: boolean;
  /** Whether a store that is missing is made. */
  readonly create: boolean;
  readonly units: Units;
  readonly writer: WriterPlace;
  readonly notice: Notice;
  /** The format of the data file, unless it is this version's. */
  readonly format?: Format;
}

/** How long a write of the service waits for its commit: behind other groups, and for the lock another process holds. */
const servingTimeoutMs = 5_000;
/** How long a process that only manages the store waits for the lock of one that writes. */
const managingTimeoutMs = 10_000;
/** How long it waits for another one that migrates the store. */
const managingLockWaitMs = 500;

/** A store's files, open. */
interface Opened extends Disposable {
  readonly data: Database;
  readonly limits: Limits;
  /** Where the limits are. */
  readonly limitFile: string;
  readonly created: boolean;
}

/** The embedded store: one data file, and the limit state in a file beside it. Throws `StorageUnusable`. */
export function openSqlite(options: SqliteOptions): Storage {
  const { units, notice } = options;
  using opened = new DisposableStack();
  const files = opened.use(openFiles(options));
  const { data, limits } = files;
  const snapshot = opened.use(new Snapshot(data, new FormatWatch(data, notice)));
  const writer = connectWriter({
    place: options.writer,
    path: data.filename,
    format: options.format ?? dataFormat,
    units,
    timeoutMs: options.serving ? servingTimeoutMs : managingTimeoutMs,
    notice,
    onOutcome: () => snapshot.renew(),
  });
  const facts = new SqliteFacts(data, files.limitFile, snapshot);
  const kept = opened.move();

  return {
    created: files.created,
    pets: new SqlitePets(data, snapshot),
    categories: new SqliteCategories(data, snapshot),
    orders: new SqliteOrders(data, snapshot),
    accounts: new SqliteAccounts(data, snapshot),
    keys: new SqliteKeys(data, snapshot),
    limits: limitStore(limits, snapshot),
    imports: new SqliteImports(data, snapshot),
    operators: new SqliteOperators(data, snapshot),
    sessions: new SqliteSessions(data, snapshot),
    audit: new SqliteAudit(data, snapshot),
    usage: new SqliteUsage(data, snapshot),
    instances: new SqliteInstances(data, snapshot),
    facts: () => ({ ...facts.read(), ...writer.facts }),
    write: (name, input) => writer.write(name, input),
    ...(writer.serve && { serveWorker: workerServer(writer.serve, limits) }),
    health: () => {
      snapshot.versions();
      limits.expectIntact();
      const found: Trouble[] = [];
      if (writer.trouble !== undefined) found.push(troubles.dataFile);
      if (limits.trouble !== undefined) found.push(troubles.limitFile);
      return found;
    },
    ...(writer.lost && { lost: writer.lost }),
    staleAtMostMs: 0,
    [Symbol.asyncDispose]: async () => {
      if (kept.disposed) return;
      await writer[Symbol.asyncDispose]();
      await limits.close();
      kept.dispose();
    },
  };
}

/** A process that serves has the lock before it changes anything, and until its files are closed. */
function openFiles(options: SqliteOptions): Opened {
  const { path, clock, rules, serving, create, writer, notice, format = dataFormat } = options;
  using opened = new DisposableStack();
  // A worker relies on its supervisor's lock.
  const worker = writer.kind === 'supervisor' ? writer.worker.number : 0;
  const role = worker > 0 ? 'worker' : serving ? 'serving' : 'beside';
  const files = storeFiles(path, create);
  const lock = role === 'serving' ? lockOnce(files, opened) : () => tryLock(files, managingLockWaitMs);
  const data = openDatabase({
    path: files.data,
    format,
    create,
    busyTimeoutMs: serving ? 0 : managingTimeoutMs,
    lock,
    notice,
  });
  opened.defer(() => data.close());
  if (role !== 'worker' && isUnfinished(data)) {
    using held = lock();
    if (held !== undefined) finishRestore(files);
  }
  // Who answers requests does not write.
  data.run('PRAGMA query_only = ON');
  if (role === 'serving') lock();

  const limits = openLimits({
    files,
    role,
    worker,
    clock,
    rules,
    notice,
    lock,
    lastAccountId: lastAccount(data),
  });
  const open = role === 'serving' ? openToOthers(files) : [];
  if (open.length > 0) {
    notice(
      `other users of this machine can access the store: ${open.join(', ')}; run chmod go= on these files to prevent it`,
    );
  }
  const kept = opened.move();
  return {
    data,
    limits,
    limitFile: files.limits,
    created: files.created,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Does the writes of workers. What one that has ended had locked is freed. */
function workerServer(serve: (port: Port) => Disposable, limits: Limits) {
  return (worker: number, port: Port): Disposable => {
    const served = serve(port);
    return {
      [Symbol.dispose]: () => {
        served[Symbol.dispose]();
        limits.freeLocksOf(worker);
      },
    };
  };
}

function lastAccount(data: Database): number {
  const [row] = data.query<{ id: bigint | null }, []>('SELECT max(id) AS id FROM accounts').all();
  return Number(row?.id ?? 0);
}

/** The limits, which count a caller only as the data file has it. */
function limitStore(limits: Limits, snapshot: Snapshot): LimitStore {
  return {
    versions: () => snapshot.versions(),
    take(caller: Caller, callersVersion: number): Admission {
      const versions = snapshot.versions();
      const verdict = versions.callers === callersVersion ? limits.take(caller) : undefined;
      return { verdict, versions };
    },
    standing: (caller) => ({ verdict: limits.standing(caller), versions: snapshot.versions() }),
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    failUnder: (address, callersVersion) =>
      snapshot.versions().callers === callersVersion ? limits.fail(address) : undefined,
    peek: (address) => limits.peek(address),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
  };
}
