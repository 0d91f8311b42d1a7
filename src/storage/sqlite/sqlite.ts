import type { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import type { Versions } from '../../domain/resources.ts';
import { type Trouble, troubles } from '../../domain/troubles.ts';
import { type DataDamagedError, StorageUnavailable, StoreUnusableError } from '../../outages/errors.ts';
import { describeError, type Notify } from '../../outages/outage.ts';
import { fileSize, readFreeBytes, readOrNull } from '../../store-files/disk.ts';
import { findDataLoss, findStoreLoss, type StoreIdentity } from '../../store-files/file-identity.ts';
import { explainFileError, type StoreFiles } from '../../store-files/files.ts';
import { keys } from '../../tables/accounts.ts';
import { imports } from '../../tables/imports.ts';
import { sessions } from '../../tables/operators.ts';
import { entities } from '../../tables/tables.ts';
import type { StoreFacts } from '../admin.ts';
import { createEntities } from '../entity.ts';
import { createImportQueries } from '../queries/imports.ts';
import { createKeyQueries } from '../queries/keys.ts';
import type { EntityStores, Storage, StoreSettings } from '../storage.ts';
import { connectWriter, type WriterLocation } from './connect-writer.ts';
import { closeUnchanged, type Migrations, openDatabase, toDamageError } from './database.ts';
import { SqliteEngine } from './engine.ts';
import { SqliteAccounts } from './entities/accounts.ts';
import { auditStore } from './entities/audit.ts';
import { SqliteDeliveries } from './entities/deliveries.ts';
import { type RunRead, SqliteEntity } from './entities/entity.ts';
import { SqliteEvents } from './entities/events.ts';
import { SqlitePets } from './entities/pets.ts';
import { searchStore } from './entities/search.ts';
import { SqliteUsage } from './entities/usage.ts';
import { FormatWatch } from './format-watch.ts';
import { dataMigrations } from './migrations.ts';
import { Snapshot } from './snapshot.ts';
import { WalIndex } from './wal-index.ts';

interface DataFileOptions extends Pick<StoreSettings, 'isServing' | 'create' | 'migrates' | 'notice'> {
  readonly files: StoreFiles;
  /** Whether another process of the same service writes to the file. */
  readonly isWorker: boolean;
  /** Acquires the serving lock, which is needed to migrate; undefined if another process holds it. */
  readonly lock: () => Disposable | undefined;
  readonly migrations?: Migrations;
}

export interface DataFile extends Disposable {
  readonly files: StoreFiles;
  readonly data: Database;
  /**
   * Detects commits by other processes within an event-loop tick. Undefined if no other process serves the store,
   * because `onOutcome` then reports all commits.
   */
  readonly index: WalIndex | undefined;
  readonly migrations: Migrations;
  /** Disposed of just before the file is closed. */
  readonly uses: DisposableStack;
  /** Prevents the file from being changed when it is closed. */
  readonly keepUnchanged: () => void;
}

interface SqliteOptions extends StoreSettings {
  readonly identity: StoreIdentity;
  readonly writer: WriterLocation;
}

export interface SqliteStore extends Storage {
  /** The versions of the current snapshot. */
  versions(): Versions;
}

/** Timeout of a write by the service, including waits for other groups and for another process's lock. */
const servingTimeoutMs = 5_000;
/** Timeout of a write by a command, including the wait for another process's lock. */
const managingTimeoutMs = 10_000;

/** Opens and, if allowed, migrates the data file. Throws `StoreUnusableError`. */
export function openDataFile(options: DataFileOptions): DataFile {
  const { files, isServing, isWorker, migrations = dataMigrations, ...others } = options;
  const index = isWorker ? openWalIndex(files) : undefined;
  const data = openDatabase({
    ...others,
    path: files.data,
    migrations,
    busyTimeoutMs: isServing ? 0 : managingTimeoutMs,
  });
  const uses = new DisposableStack();
  let close = () => data.close();
  uses.defer(() => close());
  return {
    ...{ files, data, index, migrations, uses },
    keepUnchanged: () => {
      close = () => closeUnchanged(data);
    },
    [Symbol.dispose]: () => uses.dispose(),
  };
}

/** Opens a store on a data file, which must be disposed of after the store. */
export function openSqlite(
  { files, data, index, migrations, uses }: DataFile,
  options: SqliteOptions,
): SqliteStore {
  const { units, identity, isServing } = options;
  data.run('PRAGMA query_only = ON');
  const damage = new DamageReport(isServing ? options.notice : () => undefined);
  const format = new FormatWatch(data, options.notice);
  // Reads are possible until the file is closed.
  const snapshot = uses.use(new Snapshot(data, format, index, damage.report));
  const writer = connectWriter({
    place: options.writer,
    path: data.filename,
    ...{ identity, migrations, units },
    notice: options.notice,
    events: options.events,
    timeoutMs: isServing ? servingTimeoutMs : managingTimeoutMs,
    onOutcome: () => snapshot.renew(),
    onDamage: damage.report,
  });
  const { serve } = writer;
  const read: RunRead = (work) => snapshot.read(work);
  const engine = new SqliteEngine(data, read);

  return {
    created: files.created,
    clock: options.clock,
    ...createEntities<EntityStores>(entities, (table) => new SqliteEntity(data, table, { read })),
    pets: new SqlitePets(data, read),
    accounts: new SqliteAccounts(data, read),
    keys: Object.assign(new SqliteEntity(data, keys, { read }), createKeyQueries(engine)),
    deliveries: new SqliteDeliveries(data, read),
    events: new SqliteEvents(data, read),
    imports: Object.assign(new SqliteEntity(data, imports, { read }), createImportQueries(engine)),
    sessions: new SqliteEntity(data, sessions, { read }),
    audit: auditStore(data, read),
    usage: new SqliteUsage(data, read),
    search: searchStore(engine),
    versions: () => snapshot.versions(),
    facts: () => ({ ...readFacts(data, files.limits, read), ...writer.facts }),
    write: (name, input) => writer.write(name, input),
    ...(serve && { serveWorker: (_worker, port) => serve(port) }),
    health: () => checkHealth(() => snapshot.versions(), identity, damage, writer),
    dataLoss: () => findDataLoss(identity),
    ...(writer.writerLost && { writerLost: writer.writerLost }),
    maxStaleMs: 0,
    [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
  };
}

/** Throws `StoreUnusableError`. */
function openWalIndex({ data }: StoreFiles): WalIndex {
  try {
    return new WalIndex(data);
  } catch (error) {
    const reason = explainFileError(error as Error, data);
    throw new StoreUnusableError(
      `Cannot open the WAL-index of ${data}, which the supervisor keeps open: ${reason}.`,
    );
  }
}

/** Throws `StorageUnavailable` if nothing can be read. */
function checkHealth(
  read: () => unknown,
  identity: StoreIdentity,
  damage: DamageReport,
  writer: { readonly trouble: string | undefined },
): Trouble[] {
  const causes = () => [
    ...(findStoreLoss(identity) === undefined ? [] : [troubles.storeFiles]),
    ...(damage.isFound ? [troubles.dataDamaged] : []),
  ];
  try {
    read();
  } catch (error) {
    const [cause] = causes();
    throw cause === undefined ? error : new StorageUnavailable(cause, error);
  }
  const found = causes();
  return found.length > 0 || writer.trouble === undefined ? found : [troubles.dataFile];
}

/** The lowest id of an account that is at least `least`; undefined if there is none. Throws `StoreUnusableError`. */
export function findAccountIdFrom({ data }: DataFile, least: number): number | undefined {
  try {
    const [row] = data
      .query<{ id: bigint | null }, [number]>('SELECT min(id) AS id FROM accounts WHERE id >= ?')
      .all(least);
    return row?.id == null ? undefined : Number(row.id);
  } catch (error) {
    throw toDamageError(error, data.filename) ?? error;
  }
}

/**
 * A number that increases with every change to the store: the sum of the versions of all resources and the highest ids
 * of all tables. The ids are included because changes by operators have no version, but are in the audit log.
 */
export function readChangeCount({ data }: Pick<DataFile, 'data'>): bigint {
  const ofTables = 'SELECT coalesce(sum(seq), 0) FROM sqlite_sequence';
  const [row] = data
    .query<{ changes: bigint }, []>(`SELECT (SELECT sum(version) FROM versions) + (${ofTables}) AS changes`)
    .all();
  return row?.changes ?? 0n;
}

interface FactsRow {
  readonly version: string;
  readonly format: bigint;
  readonly pageBytes: bigint;
  readonly freePages: bigint;
}

function readFacts(database: Database, limitFile: string, read: RunRead): StoreFacts {
  const select = database.query<FactsRow, []>(
    `SELECT sqlite_version() AS version, user_version AS format, page_size AS pageBytes,
            freelist_count AS freePages
     FROM pragma_user_version, pragma_page_size, pragma_freelist_count`,
  );
  const row = read(() => select.get());
  const { filename } = database;
  return {
    engine: 'SQLite',
    sqliteVersion: row?.version ?? null,
    format: Number(row?.format),
    dataBytes: readOrNull(() => statSync(filename).size),
    walBytes: readOrNull(() => fileSize(`${filename}-wal`)),
    pageBytes: Number(row?.pageBytes),
    freePages: Number(row?.freePages),
    limitBytes: readOrNull(() => fileSize(limitFile)),
    freeBytes: readOrNull(() => readFreeBytes(filename)),
  };
}

const reportsDamage = (error: unknown) => / is damaged \(SQLITE_/.test(describeError(error));

/** Remembers whether the data file was found damaged, and reports that once. Damage lasts until the process ends. */
class DamageReport {
  isFound = false;
  readonly #notice: Notify;

  constructor(notice: Notify) {
    this.#notice = notice;
  }

  readonly report = (damage: DataDamagedError): void => {
    if (this.isFound) return;
    this.isFound = true;
    this.#notice(`degraded: ${describeError(damage)}`, {
      part: 'data file',
      works: false,
      failsRequests: reportsDamage,
    });
  };
}
