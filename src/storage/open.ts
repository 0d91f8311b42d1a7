import { maskedUrl } from '../domain/masked-url.ts';
import { printable } from '../domain/printable.ts';
import type { StoreContents } from './backup.ts';
import type { ClusterSettings } from './cluster.ts';
import type { Notice } from './outage.ts';
import type { WriterPlace } from './sqlite/connect-writer.ts';
import { openSqlite } from './sqlite/sqlite.ts';
import { type Storage, StorageUnusable, type StoreSettings, type Tables } from './storage.ts';
import type { Units } from './transaction.ts';

export interface StorageOptions<All extends Units>
  extends Omit<StoreSettings<All>, 'create' | 'migrates' | 'notice'> {
  readonly url: string;
  /** Defaults to `serving`. */
  readonly create?: boolean;
  /** Defaults to `serving`. */
  readonly migrates?: boolean;
  /** Thread that runs the units of work of an embedded store; defaults to this thread. */
  readonly writer?: WriterPlace;
  /** Additional settings for a PostgreSQL store; undefined if Redis is not used. */
  readonly cluster?: ClusterSettings | undefined;
  /** By default, writes lines to standard error. */
  readonly notice?: Notice;
}

/** Opens the store at a URL. Throws `StorageUnusable` with a remedy. */
export async function openStorage<All extends Units>(options: StorageOptions<All>): Promise<Storage<All>> {
  const {
    url,
    cluster,
    writer = { kind: 'here' },
    serving,
    create = serving,
    migrates = serving,
    notice = warn,
    ...others
  } = options;
  const settings = { ...others, serving, create, migrates, notice };
  const path = sqlitePath(url);
  if (path !== undefined) return openSqlite({ ...settings, path, writer });
  if (!isPostgres(url)) throw new StorageUnusable(`Unsupported database URL "${maskedUrl(url)}".`);
  if (cluster === undefined) throw new StorageUnusable('PostgreSQL requires Redis. Set REDIS_URL.');
  // Drivers are loaded only if the store needs them.
  const { openCluster } = await import('./cluster.ts');
  return openCluster({ ...settings, url, ...cluster });
}

/** Statement timeout for copying a store. The timeout is long because the statements process many rows. */
const copyTimeoutMs = 60_000;

/**
 * Opens the store at a URL for copying rows. Throws `StorageUnusable`, including when another process is serving the
 * store (SQLite).
 */
export async function openTables(url: string, mustExist: boolean): Promise<Tables> {
  const path = sqlitePath(url);
  if (path !== undefined) {
    const { openSqliteTables } = await import('./sqlite/tables.ts');
    return openSqliteTables(path, mustExist);
  }
  if (!isPostgres(url)) throw new StorageUnusable(`Unsupported database URL "${maskedUrl(url)}".`);
  const { openPostgresTables } = await import('./postgres/tables.ts');
  const limits = { poolSize: 1, statementTimeoutMs: copyTimeoutMs };
  return openPostgresTables({ url, ...limits, notice: warn }, mustExist);
}

/** Reads the contents of a store on a server. Throws `StorageUnusable`. */
export async function verifyServer(url: string): Promise<StoreContents> {
  const { verifyPostgres } = await import('./postgres/verify.ts');
  return verifyPostgres({ url, poolSize: 1, statementTimeoutMs: copyTimeoutMs, notice: warn });
}

function warn(text: string): void {
  process.stderr.write(`animal-store: ${printable(text)}\n`);
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
