import { escapeUnprintable } from '../domain/escape-unprintable.ts';
import { maskUrl } from '../domain/mask-url.ts';
import { clearServedRecord, recordClosed } from '../limits/file/served-files.ts';
import { CopyOperations, listRunningInstances } from '../operations/copies.ts';
import { type Store, units } from '../operations/units.ts';
import { StoreUnusableError } from '../outages/errors.ts';
import type { Notify } from '../outages/outage.ts';
import type { WriterLocation } from '../storage/sqlite/connect-writer.ts';
import type { ServingWorker, StoreContents, Tables } from '../storage/storage.ts';
import type { Units } from '../storage/transaction.ts';
import { prepareStoreFiles } from '../store-files/files.ts';
import { expectNoDeletedFile } from '../store-files/serving-lock.ts';
import type { ClusterSettings } from './cluster.ts';
import { expectConsistentFiles, openEmbedded } from './embedded.ts';
import type { LimitedStore, LimitedStoreSettings } from './limited-store.ts';

export interface StorageOptions<All extends Units>
  extends Omit<LimitedStoreSettings<All>, 'create' | 'migrates' | 'notice'> {
  readonly url: string;
  /** Defaults to `isServing`. */
  readonly create?: boolean;
  /** Defaults to `isServing`. */
  readonly migrates?: boolean;
  /** Thread that runs the units of work of an embedded store; defaults to this thread. */
  readonly writer?: WriterLocation;
  /** Additional settings for a PostgreSQL store; undefined if Redis is not used. */
  readonly cluster?: ClusterSettings | undefined;
  /** By default, writes lines to standard error. */
  readonly notice?: Notify;
}

/** Opens the store at a URL. Throws `StoreUnusableError` with a remedy. */
export async function openStorage<All extends Units>(
  options: StorageOptions<All>,
): Promise<LimitedStore<All>> {
  const {
    url,
    cluster,
    writer = { kind: 'here' },
    isServing,
    create = isServing,
    migrates = isServing,
    notice = warn,
    ...others
  } = options;
  const settings = { ...others, isServing, create, migrates, notice };
  const path = sqlitePath(url);
  if (path !== undefined) return openEmbedded({ ...settings, path, writer });
  if (!isPostgres(url)) throw new StoreUnusableError(`Unsupported database URL "${maskUrl(url)}".`);
  if (cluster === undefined) throw new StoreUnusableError('PostgreSQL requires Redis. Set REDIS_URL.');
  // Drivers are loaded only if the store needs them.
  const { openCluster } = await import('./cluster.ts');
  return openCluster({ ...settings, url, ...cluster });
}

/** Statement timeout for copying a store. The timeout is long because the statements process many rows. */
const copyTimeoutMs = 60_000;

/**
 * Opens the store at a URL for copying rows. Throws `StoreUnusableError`, including when another process is serving the
 * store (SQLite).
 */
export async function openTables(url: string, mustExist: boolean): Promise<Tables> {
  const path = sqlitePath(url);
  if (path !== undefined) {
    const { openSqliteTables } = await import('../storage/sqlite/tables.ts');
    expectNoDeletedFile(path);
    const files = prepareStoreFiles(path, !mustExist);
    expectConsistentFiles(files, 'beside', warn);
    const tables = openSqliteTables(files, mustExist);
    clearServedRecord(files);
    const closing = async () => {
      await tables[Symbol.asyncDispose]();
      recordClosed(files);
    };
    return { ...tables, [Symbol.asyncDispose]: closing };
  }
  if (!isPostgres(url)) throw new StoreUnusableError(`Unsupported database URL "${maskUrl(url)}".`);
  const { openPostgresTables } = await import('../storage/postgres/tables.ts');
  const limits = { poolSize: 1, statementTimeoutMs: copyTimeoutMs };
  return openPostgresTables({ url, ...limits, notice: warn }, mustExist);
}

/** Reads the contents of a store on a server. Throws `StoreUnusableError`. */
export async function readServerContents(url: string): Promise<StoreContents> {
  const { readPostgresContents } = await import('../storage/postgres/tables.ts');
  return readPostgresContents({ url, poolSize: 1, statementTimeoutMs: copyTimeoutMs, notice: warn });
}

function warn(text: string): void {
  process.stderr.write(`animal-store: ${escapeUnprintable(text)}\n`);
}

export function isEmbedded(url: string): boolean {
  return sqlitePath(url) !== undefined;
}

/**
 * The path of an embedded store's data file; undefined for other stores, and for an in-memory store, which would be
 * lost when the command exits.
 */
export function sqlitePath(url: string): string | undefined {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  return path?.trim() === ':memory:' ? undefined : path;
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

interface StoreOptions extends Omit<StorageOptions<typeof units>, 'units' | 'writer'> {
  /** Identifies this process if several processes serve the store; undefined if only this one does. */
  readonly worker?: ServingWorker | undefined;
  /** True for a supervisor, which serves no clients. */
  readonly supervising?: boolean;
}

/** Opens the store at a URL. Throws `StoreUnusableError`. */
export function openStore({ worker, supervising = false, ...options }: StoreOptions): Promise<Store> {
  return openStorage({ ...options, units, writer: chooseWriter(options.isServing && !supervising, worker) });
}

/** Chooses where writes run: a serving process never writes to an embedded store on its main thread. */
function chooseWriter(answers: boolean, worker: ServingWorker | undefined): WriterLocation {
  if (worker !== undefined) return { kind: 'supervisor', worker };
  if (!answers) return { kind: 'here' };
  return { kind: 'thread', module: new URL('./writer-thread.ts', import.meta.url) };
}

/**
 * Replaces DATABASE_URL with the option's name in error messages, because `copy` takes its database URLs from options
 * rather than from the setting.
 */
async function openForOption(
  option: string,
  url: string,
  mustExist: boolean,
): Promise<Tables & AsyncDisposable> {
  try {
    return await openTables(url, mustExist);
  } catch (error) {
    if (!(error instanceof StoreUnusableError)) throw error;
    throw new StoreUnusableError(error.message.replaceAll('DATABASE_URL', option), { cause: error });
  }
}

type OpenCopyStores = CopyOperations &
  AsyncDisposable & {
    /** Names of the instances that are serving the source store. */
    readonly servedBy: readonly string[];
  };

/** Opens two stores, so that one can be copied into the other. Throws `StoreUnusableError`. */
export async function openCopyStores(fromUrl: string, toUrl: string): Promise<OpenCopyStores> {
  await using opened = new AsyncDisposableStack();
  const from = opened.use(await openForOption('--from', fromUrl, true));
  const to = opened.use(await openForOption('--to', toUrl, false));
  // An embedded store needs no check, because it cannot be opened while it is being served.
  const servedBy = from.now === undefined ? [] : await listRunningInstances(from, await from.now());
  const resources = opened.move();
  return Object.assign(new CopyOperations(from, to), {
    servedBy,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  });
}
