import { existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { expectServedFiles } from '../limits/file/served-files.ts';
import { fileSize, readFreeBytes, readOrNull, syncParentFolder } from '../store-files/disk.ts';
import { prepareStoreFiles, type StoreFiles } from '../store-files/files.ts';
import { expectNoDeletedFile } from '../store-files/serving-lock.ts';
import {
  BackupError,
  type BackupFacts,
  type CreateOptions,
  type VerifiedFile,
  type VerifyOptions,
} from './backup.ts';
import { isBackup } from './backup-file.ts';
import { partialName, removeLeftovers, removePartial } from './leftovers.ts';
import type { BackupOptions } from './make.ts';
import { isStoreIntact } from './verify.ts';

export type BackupTask =
  | ({ readonly kind: 'make' } & BackupOptions)
  | { readonly kind: 'verify'; readonly path: string };

/** Runs a task until it ends or `signal` aborts. Rejects with `BackupError`. */
export type RunBackupTask = (
  task: BackupTask,
  signal: AbortSignal | undefined,
  onRead?: (bytes: number) => void,
) => Promise<unknown>;

const checkIntervalMs = 100;
/**
 * Estimated number of times that a verification reads the file: for the digest, for SQLite's check, and to count rows.
 */
const readPasses = 3.25;
const extraBytes = 1_048_576;
/**
 * Disk space reserved for the service: a backup stops if less is free. On a nearly full disk, half of the space that
 * the backup would leave free is reserved instead.
 */
const reserveBytes = 67_108_864;

interface MakerOptions {
  readonly path: string;
  readonly madeBy: string;
  readonly run: RunBackupTask;
}

/**
 * Creates and verifies backups in other processes, so that this process is not blocked. Both methods reject with
 * `BackupError`.
 */
export class BackupMaker {
  readonly #options: MakerOptions;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  /** Creates a backup. The file gets its final name once it is complete and durable. */
  async create(path: string, { replace, now, signal, onProgress }: CreateOptions): Promise<BackupFacts> {
    const { madeBy, run } = this.#options;
    expectNoDeletedFile(this.#options.path);
    const files = prepareStoreFiles(this.#options.path, false);
    expectServedFiles(files, 'beside', isStoreIntact, true);
    const name = resolveTarget(path, replace);
    expectOtherName(name, files);
    removeLeftovers(dirname(name), (other) => other === basename(name));
    const total = estimateBytes(files);
    expectSpace(name, total + extraBytes, `for the backup in ${dirname(name)}`);
    const reserve = diskReserve(files.data, name, total);
    const target = partialName(name);
    const task: BackupTask = { kind: 'make', data: files.data, limits: files.limits, target, now, madeBy };
    const stop = new AbortController();
    const stopSignal = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const timer = setInterval(() => {
      onProgress?.(readOrNull(() => fileSize(target)) ?? 0, total);
      // An error thrown by a timer would end the service.
      if ((readOrNull(() => readFreeBytes(files.data)) ?? reserve) < reserve) stop.abort();
    }, checkIntervalMs);
    try {
      const facts = (await run(task, stopSignal)) as BackupFacts;
      publish(target, name, replace);
      return facts;
    } catch (error) {
      throw stop.signal.aborted ? diskFullError(files.data, reserve) : error;
    } finally {
      clearInterval(timer);
      removePartial(target);
    }
  }

  async verify(path: string, { signal, onProgress }: VerifyOptions = {}): Promise<VerifiedFile> {
    const total = readPasses * fileSize(path);
    const onRead = (bytes: number) => onProgress?.(bytes, total);
    return (await this.#options.run({ kind: 'verify', path: resolve(path) }, signal, onRead)) as VerifiedFile;
  }
}

/**
 * Returns the path of the backup, with links resolved. Throws `BackupError` if a file at the path must not be replaced.
 */
function resolveTarget(path: string, replace: boolean): string {
  const name = resolve(path);
  if (!existsSync(dirname(name))) {
    throw new BackupError(
      'missing',
      `Folder not found: ${dirname(name)}. Create it, or choose another file.`,
    );
  }
  if (!existsSync(name)) return name;
  if (!isBackup(name)) {
    throw new BackupError(
      'exists',
      `${path} exists and is not a backup, so it cannot be replaced. Choose another file.`,
    );
  }
  if (!replace) throw alreadyExistsError(path);
  return realpathSync(name);
}

/** Throws `BackupError` for a name at which the store itself will create a file, such as the limit state. */
function expectOtherName(path: string, { data, limits, lock }: StoreFiles): void {
  const own = [limits, lock, ...['-wal', '-shm', '-journal', '.first-key'].map((suffix) => data + suffix)];
  if (!own.includes(join(realpathSync(dirname(path)), basename(path)))) return;
  throw new BackupError('exists', `${path} is the name of a file of the store. Choose another file.`);
}

function alreadyExistsError(path: string): BackupError {
  return new BackupError(
    'exists',
    `${path} already exists. Use --replace to replace it, or choose another file.`,
  );
}

/**
 * Largest expected size of a backup. The data file is not opened to count its free pages: closing a descriptor of the
 * file would release the locks of a service in this process (sqlite.org/howtocorrupt.html section 2.2).
 */
function estimateBytes({ data, limits }: StoreFiles): number {
  return fileSize(data) + fileSize(`${data}-wal`) + fileSize(limits);
}

/** Throws `BackupError` unless the disk has enough free space. */
export function expectSpace(path: string, needed: number, purpose: string): void {
  const free = readFreeBytes(path);
  if (free >= needed) return;
  const found = `about ${formatMib(needed)} needed, ${formatMib(free)} free`;
  throw new BackupError('space', `Not enough space ${purpose}: ${found}.`);
}

function diskReserve(data: string, target: string, expected: number): number {
  const isSameDisk = statSync(dirname(data)).dev === statSync(dirname(target)).dev;
  const left = readFreeBytes(data) - (isSameDisk ? expected + extraBytes : 0);
  return Math.min(reserveBytes, left / 2);
}

function diskFullError(data: string, reserve: number): BackupError {
  return new BackupError(
    'space',
    `The backup was stopped because less than ${formatMib(reserve)} is free on the disk of the store ${data}. Free some ` +
      'space, or back up to another disk.',
  );
}

function formatMib(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576).toLocaleString('en-US')} MiB`;
}

function publish(partial: string, name: string, replace: boolean): void {
  try {
    if (replace) renameSync(partial, name);
    else linkAs(partial, name);
    syncParentFolder(name);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError('failed', `Cannot write ${name}: ${(error as Error).message}.`, error);
  }
}

/** Moves the backup to its final name, unless a file with this name was created in the meantime. */
function linkAs(partial: string, name: string): void {
  try {
    linkSync(partial, name);
    rmSync(partial);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw alreadyExistsError(name);
    // Some file systems do not support hard links.
    if (existsSync(name)) throw alreadyExistsError(name);
    renameSync(partial, name);
  }
}
