import type { Database } from 'bun:sqlite';
import type { BanRules } from '../../domain/limit.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import { imports } from '../../tables/imports.ts';
import { sessions } from '../../tables/operators.ts';
import { entities } from '../../tables/tables.ts';
import { entitiesOf } from '../entity.ts';
import type { Notice } from '../outage.ts';
import {
  type Admission,
  type Caller,
  type EntityStores,
  type LimitStore,
  type Port,
  type Storage,
  StorageUnusable,
  type StoreSettings,
} from '../storage.ts';
import { finishRestore, isUnfinished } from './backup/restored-limits.ts';
import { connectWriter, type WriterPlace } from './connect-writer.ts';
import { type Migrations, openDatabase } from './database.ts';
import { SqliteAccounts } from './entities/accounts.ts';
import { SqliteAudit } from './entities/audit.ts';
import { SqliteDeliveries } from './entities/deliveries.ts';
import { type ReadIn, SqliteEntity } from './entities/entity.ts';
import { SqliteEvents } from './entities/events.ts';
import { SqliteImports } from './entities/imports.ts';
import { SqliteKeys } from './entities/keys.ts';
import { SqlitePets } from './entities/pets.ts';
import { SqliteSearch } from './entities/search.ts';
import { SqliteUsage } from './entities/usage.ts';
import { factsOf } from './facts.ts';
import { dataLoss, type StoreIdentity, storeIdentity, storeLoss } from './file-identity.ts';
import { fileReason, openToOthers, type StoreFiles, storeFiles } from './files.ts';
import { FormatWatch } from './format-watch.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/open-limits.ts';
import { dataMigrations } from './migrations.ts';
import { expectServedFiles } from './served-files.ts';
import { lockOnce, tryLock } from './serving-lock.ts';
import { Snapshot } from './snapshot.ts';
import { WalIndex } from './wal-index.ts';

interface SqliteOptions extends StoreSettings {
  readonly path: string;
  readonly writer: WriterPlace;
  readonly migrations?: Migrations;
}

/** Timeout of a write by the service, including waits for other groups and for another process's lock. */
const servingTimeoutMs = 5_000;
/** Timeout of a write by a command, including the wait for another process's lock. */
const managingTimeoutMs = 10_000;
/** Time a command waits for another process to finish migrating the store. */
const managingLockWaitMs = 500;

interface Opened extends Disposable {
  readonly data: Database;
  /**
   * Detects commits by other processes within an event-loop tick. Undefined in a process that serves alone, because
   * `onOutcome` reports all commits to it.
   */
  readonly index: WalIndex | undefined;
  readonly identity: StoreIdentity;
  readonly limits: Limits;
  readonly limitFile: string;
  readonly created: boolean;
}

/** Opens the embedded store: a data file, and a file next to it with the limit state. Throws `StorageUnusable`. */
export function openSqlite(options: SqliteOptions): Storage {
  const { units, notice } = options;
  using opened = new DisposableStack();
  const files = opened.use(openFiles(options));
  const { data, limits } = files;
  const snapshot = opened.use(new Snapshot(data, new FormatWatch(data, notice), files.index));
  const writer = connectWriter({
    place: options.writer,
    path: data.filename,
    identity: files.identity,
    migrations: options.migrations ?? dataMigrations,
    units,
    events: options.events,
    timeoutMs: options.serving ? servingTimeoutMs : managingTimeoutMs,
    notice,
    onOutcome: () => snapshot.renew(),
  });
  const read: ReadIn = (work) => snapshot.read(work);
  const kept = opened.move();

  return {
    created: files.created,
    clock: options.clock,
    ...entitiesOf<EntityStores>(entities, (table) => new SqliteEntity(data, table, { read })),
    pets: new SqlitePets(data, read),
    accounts: new SqliteAccounts(data, read),
    keys: new SqliteKeys(data, read),
    limits: limitStore(limits, snapshot, options.rules.ban),
    deliveries: new SqliteDeliveries(data, read),
    events: new SqliteEvents(data, read),
    imports: new SqliteImports(data, imports, { read }),
    sessions: new SqliteEntity(data, sessions, { read }),
    audit: new SqliteAudit(data, read),
    usage: new SqliteUsage(data, read),
    search: new SqliteSearch(data, read),
    facts: () => ({ ...factsOf(data, files.limitFile, read), ...writer.facts }),
    write: (name, input) => writer.write(name, input),
    ...(writer.serve && { serveWorker: workerServer(writer.serve, limits) }),
    health: () => {
      snapshot.versions();
      limits.expectIntact();
      return troublesIn(files, writer.trouble);
    },
    dataLoss: () => dataLoss(files.identity),
    ...(writer.lost && { lost: writer.lost }),
    maxStaleMs: 0,
    [Symbol.asyncDispose]: async () => {
      if (kept.disposed) return;
      await writer[Symbol.asyncDispose]();
      await limits.close();
      kept.dispose();
    },
  };
}

function troublesIn({ identity, limits }: Opened, writeTrouble: string | undefined): Trouble[] {
  const found: Trouble[] = [];
  if (storeLoss(identity) !== undefined) found.push(troubles.storeFiles);
  else if (writeTrouble !== undefined) found.push(troubles.dataFile);
  if (limits.trouble !== undefined) found.push(troubles.limitFile);
  return found;
}

/** A serving process acquires the lock before it changes anything, and holds it until its files are closed. */
function openFiles(options: SqliteOptions): Opened {
  const {
    path,
    clock,
    rules,
    serving,
    create,
    migrates,
    writer,
    notice,
    migrations = dataMigrations,
  } = options;
  using opened = new DisposableStack();
  // A worker needs no lock, because its supervisor holds the lock.
  const worker = writer.kind === 'supervisor' ? writer.worker.number : 0;
  const role = worker > 0 ? 'worker' : serving ? 'serving' : 'beside';
  const files = storeFiles(path, create);
  expectServedFiles(files, role);
  const index = role === 'worker' ? walIndexOf(files) : undefined;
  const lock = role === 'serving' ? lockOnce(files, opened) : () => tryLock(files, managingLockWaitMs);
  const data = openDatabase({
    path: files.data,
    migrations,
    create,
    migrates,
    busyTimeoutMs: serving ? 0 : managingTimeoutMs,
    lock,
    notice,
  });
  opened.defer(() => data.close());
  if (role !== 'worker' && isUnfinished(data)) {
    using held = lock();
    if (held !== undefined) finishRestore(files);
  }
  data.run('PRAGMA query_only = ON');
  if (role === 'serving') lock();
  const identity = storeIdentity(path, files, role !== 'beside');

  const limits = openLimits({
    files,
    identity,
    role,
    worker,
    clock,
    rules,
    notice,
    nextAccount: (least) => nextAccount(data, least),
  });
  if (role === 'serving') reportOpenToOthers(files, notice);
  const kept = opened.move();
  return {
    data,
    index,
    identity,
    limits,
    limitFile: files.limits,
    created: files.created,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function reportOpenToOthers(files: StoreFiles, notice: Notice): void {
  const open = openToOthers(files);
  if (open.length === 0) return;
  notice(
    `other users of this machine can access the store: ${open.join(', ')}; run chmod go= on these files to prevent it`,
  );
}

/** Throws `StorageUnusable`. */
function walIndexOf({ data }: StoreFiles): WalIndex {
  try {
    return new WalIndex(data);
  } catch (error) {
    const reason = fileReason(error as Error, data);
    throw new StorageUnusable(
      `Cannot open the WAL-index of ${data}, which the supervisor keeps open: ${reason}.`,
    );
  }
}

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

function nextAccount(data: Database, least: number): number | undefined {
  const [row] = data
    .query<{ id: bigint | null }, [number]>('SELECT min(id) AS id FROM accounts WHERE id >= ?')
    .all(least);
  return row?.id == null ? undefined : Number(row.id);
}

/** Counts a request only if its caller is up to date. */
function limitStore(limits: Limits, snapshot: Snapshot, banRules: BanRules): LimitStore {
  return {
    banRules,
    versions: () => snapshot.versions(),
    take(caller: Caller, callersVersion: number): Admission {
      const versions = snapshot.versions();
      const verdict = versions.callers === callersVersion ? limits.take(caller) : undefined;
      return { verdict, versions };
    },
    standing: (caller) => ({ ...limits.standing(caller), versions: snapshot.versions() }),
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    failUnder: (address, callersVersion) =>
      snapshot.versions().callers === callersVersion ? limits.fail(address) : undefined,
    peek: (address) => limits.peek(address),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
  };
}
