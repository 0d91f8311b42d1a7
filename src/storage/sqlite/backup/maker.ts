import { existsSync, linkSync, realpathSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import {
  BackupError,
  type BackupFacts,
  type BackupMaker,
  type MakeOptions,
  type Verified,
  type VerifyOptions,
} from '../../backup.ts';
import { syncFolderOf } from '../durable.ts';
import { type StoreFiles, storeFiles } from '../files.ts';
import { headerOf, isBackup } from './backup-file.ts';
import { partialName, removeLeftOvers, removePartial } from './left-overs.ts';
import type { MakeTask } from './make.ts';

/** What is done in a process of its own. */
export type BackupTask =
  | ({ readonly kind: 'make' } & MakeTask)
  | { readonly kind: 'verify'; readonly path: string };

/** Runs it there until it ends or `signal` aborts; `onRead` is told how many bytes it has read. Rejects with `BackupError`. */
export type RunBackupTask = (
  task: BackupTask,
  signal: AbortSignal | undefined,
  onRead?: (bytes: number) => void,
) => Promise<unknown>;

/** How often it is looked how far the file is. */
const lookEveryMs = 100;
/** How often a file is read to verify it: for its digest, by SQLite's check, and to count its rows. An estimate. */
const timesRead = 3.25;
/** What a backup has besides the rows: its notes, and pages that are not full. */
const extraBytes = 1_048_576;
/** A backup ends before the service has less than this for its own files, or half of what there would be if that is less. */
const reserveBytes = 67_108_864;

export interface MakerOptions {
  /** The path of the data file, as DATABASE_URL has it. */
  readonly path: string;
  /** Version of the service. */
  readonly madeBy: string;
  readonly run: RunBackupTask;
}

/** Backups of the store at a path. */
export class SqliteBackupMaker implements BackupMaker {
  readonly #options: MakerOptions;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  async make(path: string, { replace, now, signal, onProgress }: MakeOptions): Promise<BackupFacts> {
    const { madeBy, run } = this.#options;
    const files = storeFiles(this.#options.path, false);
    const name = targetOf(path, replace);
    removeLeftOvers(dirname(name), (other) => other === basename(name));
    const total = expectedBytes(files);
    checkSpace(name, total);
    const reserve = reserveOf(files.data, name, total);
    const target = partialName(name);
    const task: BackupTask = { kind: 'make', data: files.data, limits: files.limits, target, now, madeBy };
    const stop = new AbortController();
    const ending = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const timer = setInterval(() => {
      onProgress?.(statSync(target, { throwIfNoEntry: false })?.size ?? 0, total);
      if (freeBytesOf(files.data) < reserve) stop.abort();
    }, lookEveryMs);
    try {
      const facts = (await run(task, ending)) as BackupFacts;
      publish(target, name, replace);
      return facts;
    } catch (error) {
      throw stop.signal.aborted ? noRoomLeft(files.data, reserve) : error;
    } finally {
      clearInterval(timer);
      removePartial(target);
    }
  }

  async verify(path: string, { signal, onProgress }: VerifyOptions = {}): Promise<Verified> {
    const total = timesRead * (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    const onRead = (bytes: number) => onProgress?.(bytes, total);
    return (await this.#options.run({ kind: 'verify', path: resolve(path) }, signal, onRead)) as Verified;
  }
}

/** Where the file is to be; a link stays one. Throws `BackupError` when something is there that may not be replaced. */
function targetOf(path: string, replace: boolean): string {
  const name = resolve(path);
  if (!existsSync(dirname(name))) {
    throw new BackupError(
      'missing',
      `There is no folder ${dirname(name)}. Create it, or choose another file.`,
    );
  }
  if (!existsSync(name)) return name;
  if (!isBackup(name)) {
    throw new BackupError(
      'exists',
      `${path} exists and is not a backup, so it is never replaced. Choose another file.`,
    );
  }
  if (!replace) throw exists(path);
  return realpathSync(name);
}

function exists(path: string): BackupError {
  return new BackupError(
    'exists',
    `${path} already exists. Use --replace to replace it, or choose another file.`,
  );
}

/** About what a backup of the store takes: what is in use of the data file, its log, and the limit state. */
function expectedBytes({ data, limits }: StoreFiles): number {
  const { pages, freePages, pageBytes } = headerOf(data);
  const sizes = [`${data}-wal`, limits].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return (pages - freePages) * pageBytes + sizes.reduce((sum, size) => sum + size, 0);
}

/** Throws `BackupError` unless there is room for the file, and its copy of the limit state while it is made. */
function checkSpace(path: string, expected: number): void {
  const needed = expected + extraBytes;
  const free = freeBytesOf(path);
  if (free >= needed) return;
  throw new BackupError(
    'space',
    `Not enough space for the backup in ${dirname(path)}: it takes about ${mib(needed)}, ${mib(free)} are free.`,
  );
}

/** How much is to be left on the disk of the store while the backup is made. */
function reserveOf(data: string, target: string, expected: number): number {
  const isSameDisk = statSync(dirname(data)).dev === statSync(dirname(target)).dev;
  const left = freeBytesOf(data) - (isSameDisk ? expected + extraBytes : 0);
  return Math.min(reserveBytes, left / 2);
}

function noRoomLeft(data: string, reserve: number): BackupError {
  return new BackupError(
    'space',
    `The backup was stopped because less than ${mib(reserve)} are free on the disk of the store ${data}. Free some ` +
      'space, or back up to another disk.',
  );
}

export function freeBytesOf(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

export function mib(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576).toLocaleString('en-US')} MiB`;
}

/** Gives a whole file its name, which survives a power failure from then on. */
function publish(partial: string, name: string, replace: boolean): void {
  try {
    if (replace) renameSync(partial, name);
    else linkAs(partial, name);
    syncFolderOf(name);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError('failed', `Cannot write ${name}: ${(error as Error).message}.`, error);
  }
}

/** Never over a file that was made meanwhile. */
function linkAs(partial: string, name: string): void {
  try {
    linkSync(partial, name);
    rmSync(partial);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw exists(name);
    // Some file systems have no hard links.
    if (existsSync(name)) throw exists(name);
    renameSync(partial, name);
  }
}
