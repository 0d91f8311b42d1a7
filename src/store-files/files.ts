import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StoreUnusableError } from '../outages/errors.ts';
import { fileSize, readFreeBytes } from './disk.ts';

export interface StoreFiles {
  readonly data: string;
  readonly limits: string;
  /** An empty file, locked by the process that serves the store. */
  readonly lock: string;
  readonly created: boolean;
}

/** Only the owner may access the files of a store. SQLite gives its -wal and -shm files the same mode. */
const fileMode = 0o600;
const folderMode = 0o700;

/**
 * Returns the files of the store at a path, and creates an empty data file if `create` is set. Throws
 * `StoreUnusableError`.
 */
export function prepareStoreFiles(path: string, create: boolean): StoreFiles {
  // A store's data file is never empty once its other files exist. SQLite would delete the WAL of an empty file.
  if (!existsSync(path) || fileSize(path) === 0) expectNoLeftoverFiles(path);
  if (!create && !existsSync(path)) throw missingStoreError(path);
  const created = create && createFileIfMissing(path);
  const data = resolveLinks(path);
  const found = statSync(data);
  if (found.isDirectory())
    throw new StoreUnusableError(`${data} is a folder. Set DATABASE_URL to a file in it.`);
  // SQLite names the WAL after the data file. A file with two names would have two WALs, which would corrupt the data.
  const { nlink: names } = found;
  if (names > 1) {
    throw new StoreUnusableError(
      `The data file ${data} has ${names} hard links. Opening it under two names would corrupt it: ` +
        'remove the other links, or replace them with copies.',
    );
  }
  return { ...storeFilePaths(data), created };
}

/** Returns the file names of a store that may not exist. Throws `StoreUnusableError`. */
export function resolveStoreFiles(path: string): StoreFiles {
  const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return { ...storeFilePaths(exists ? resolveLinks(path) : resolve(path)), created: false };
}

/** The paths of a store's files, without following a link. */
export function storeFilePaths(data: string): Omit<StoreFiles, 'created'> {
  const limits = data.endsWith('.db') ? data.replace(/\.db$/, '.limits') : `${data}-limits`;
  return { data, limits, lock: `${data}.serving` };
}

/**
 * The existing files, other than the data file, that contain data of the store at a path. The lock file is not among
 * them, because it is always empty.
 */
export function findLeftoverFiles(path: string): string[] {
  const { data, limits } = storeFilePaths(existsSync(path) ? resolveLinks(path) : resolve(path));
  return [`${data}-wal`, `${data}-shm`, limits].filter((name) => existsSync(name));
}

/** Advice for a store whose files were deleted, because a running service may still have them open. */
export const saveBeforeStopping =
  'If the service is still running, do not stop it: see "Lost store files" in docs/troubleshooting.md.';

/** Advice that prevents a service with lost files from being stopped, which would delete the last copy of the data. */
export const unlessLost =
  'If the log or /readyz of a running service reports lost files, do not stop it: see "Lost store files" in docs/troubleshooting.md.';

/** Advice for a command that a running service prevents. */
export const stopUnlessLost = `Stop it first. ${unlessLost}`;

/** Throws `StoreUnusableError` if a data file is missing or empty although it had contents. */
function expectNoLeftoverFiles(path: string): void {
  const remains = findLeftoverFiles(path);
  if (remains.length === 0) return;
  const state = existsSync(path) ? 'is empty' : 'is missing';
  throw new StoreUnusableError(
    `The data file ${resolve(path)} ${state}, but other files of its store exist: ${remains.join(', ')}. ${saveBeforeStopping} ` +
      'Otherwise, put the data file back, or restore a backup with "animal-store restore FILE --replace". To create a new ' +
      'store, move these files away.',
  );
}

export function missingStoreError(path: string): StoreUnusableError {
  return new StoreUnusableError(
    `No store found at ${resolve(path)}. Check DATABASE_URL (relative paths are resolved against the working directory), or ` +
      'create a store with "animal-store serve" or "animal-store import".',
  );
}

/**
 * Creates an empty file, and its folder if necessary. Its permissions and owner are those of `like`, as in `createFile`.
 * Returns false if the file exists. Throws `StoreUnusableError`.
 */
export function createFileIfMissing(path: string, like?: string): boolean {
  if (existsSync(path)) return false;
  try {
    createFolder(dirname(path));
    closeSync(createFile(path, fileMode, like));
    return true;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && syscall === 'open') return false;
    throw new StoreUnusableError(
      `Cannot create the file ${path}: ${explainFileError(error as Error, path)}.`,
    );
  }
}

/**
 * Creates and opens a file. It gets the permissions of the file `like`, if that exists, and otherwise `mode`. If root
 * creates the file, it gets the owner of `like` or of its folder. Throws system errors, such as EEXIST.
 */
export function createFile(path: string, mode: number, like?: string): number {
  const file = openSync(path, 'wx', mode);
  const model = like === undefined ? undefined : statSync(like, { throwIfNoEntry: false });
  try {
    if (model !== undefined) fchmodSync(file, model.mode & 0o777);
    inheritOwner(file, model ?? statSync(dirname(path)));
    return file;
  } catch (error) {
    closeSync(file);
    rmSync(path, { force: true });
    throw error;
  }
}

/**
 * Creates a folder that only its owner can access. Returns the first folder that was created. If root creates folders,
 * they get the owner of the folder that contains them. Throws system errors.
 */
export function createFolder(path: string): string | undefined {
  const made = mkdirSync(path, { recursive: true, mode: folderMode });
  if (made === undefined || !isRoot()) return made;
  const { uid, gid } = statSync(dirname(resolve(made)));
  for (let folder = resolve(path); folder.startsWith(resolve(made)); folder = dirname(folder)) {
    lchownSync(folder, uid, gid);
  }
  return made;
}

/**
 * Gives an open file to the owner of another file or folder, if root has created it. Otherwise, the service, which runs
 * as another user, could not open files that commands create as root. Throws system errors.
 */
export function inheritOwner(file: number, { uid, gid }: Pick<Stats, 'uid' | 'gid'>): void {
  if (isRoot()) fchownSync(file, uid, gid);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    const reason = isLink
      ? `it is a link to ${readlinkSync(path)}, which does not exist`
      : explainFileError(error as Error, path);
    throw new StoreUnusableError(`Cannot open the data file ${path}: ${reason}.`);
  }
}

/** With less free space than this, SQLite cannot open a file and reports only "disk I/O error". */
const fullDiskBytes = 131_072;

/**
 * Adds the cause and the remedy to a file error for which SQLite reports no cause: a full disk, a read-only file
 * system, or missing permissions. If there are several paths, they are examined in order.
 */
export function explainFileError({ message }: Error, path: string, ...others: readonly string[]): string {
  try {
    const freeBytes = readFreeBytes(path);
    // File systems that store nothing, such as /proc, report no free space.
    const isFull = freeBytes < fullDiskBytes && !message.startsWith('ENOENT');
    if (isFull || message.startsWith('ENOSPC')) {
      return `${message}; the disk is full (${Math.floor(freeBytes / 1_024)} KiB free)`;
    }
  } catch {
    // The folder does not exist, or this user may not search it.
  }
  if (!/^(unable to open|attempt to write a readonly|EACCES|EPERM|EROFS)/.test(message)) {
    // The caller ends the sentence.
    return message.replace(/\.$/, '');
  }
  const names = [path, ...others].flatMap((each) => [
    each,
    `${each}-wal`,
    `${each}-shm`,
    nearestFolder(each),
  ]);
  const obstacle = names.map(accessObstacle).find((found) => found !== undefined);
  return obstacle === undefined ? message : `${message}; ${obstacle}`;
}

/** The nearest folder above a path that exists. */
function nearestFolder(path: string): string {
  const folder = dirname(resolve(path));
  return existsSync(folder) || folder === dirname(folder) ? folder : nearestFolder(folder);
}

/** Why this process cannot read and write a file or folder, and the remedy; undefined if it can, or if none exists. */
function accessObstacle(path: string): string | undefined {
  try {
    const found = statSync(path);
    const { uid, mode } = found;
    try {
      const search = found.isDirectory() ? constants.X_OK : 0;
      accessSync(path, constants.R_OK | constants.W_OK | search);
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EROFS') {
        return `${path} is on a read-only file system: mount it with write access, or move the file to another one`;
      }
      const owner = `its owner has the user id ${uid}, and its mode is 0${(mode & 0o7777).toString(8)}`;
      return (
        `this user (id ${process.geteuid?.()}) has no permission to read and write ${path} (${owner}): run the command as ` +
        'its owner, or change its owner or mode'
      );
    }
  } catch {
    return undefined;
  }
}

/** The files of a store that other users can access, each with its mode. */
export function listExposedFiles({ data, limits, lock }: StoreFiles): string[] {
  // Windows has no Unix file modes.
  if (process.platform === 'win32') return [];
  return [data, `${data}-wal`, `${data}-shm`, limits, lock].flatMap((name) => {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & 0o077) === 0 ? [] : [`${name} (0${(mode & 0o777).toString(8)})`];
  });
}

/** First bytes of a file with the limit state. */
export const limitFileMagic = 'AnStLim\n';

/** First bytes of the files of a store: SQLite databases, and the limit state. */
const magics = ['SQLite format 3\0', limitFileMagic];

/**
 * Whether a path, or the target of a link at that path, is an SQLite database or belongs to a store. Such files must
 * never be overwritten.
 */
export function isStoreFile(path: string): boolean {
  const name = existsSync(path) ? realpathSync(path) : resolve(path);
  const owner = name.replace(/-(wal|shm|journal)$/, '').replace(/\.serving$/, '');
  return hasStoreMagic(name) || hasStoreMagic(owner);
}

function hasStoreMagic(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const start = Buffer.alloc(16);
  const file = openSync(path, 'r');
  try {
    const text = start.toString('latin1', 0, readSync(file, start, 0, start.length, 0));
    return magics.some((magic) => text.startsWith(magic));
  } finally {
    closeSync(file);
  }
}
