import { type BigIntStats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StoreFiles } from './files.ts';
import { areFramesIntact, checkTruncation, type FileDescriptors, type Truncation } from './open-files.ts';

/** Identifies a file independently of its name. Plain data, which is sent to the writer thread. */
export interface FileIdentity {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

export function toFileIdentity(path: string, { dev, ino }: BigIntStats): FileIdentity {
  return { path, dev, ino };
}

/** Reason why changes to a file in use are no longer visible at its path; undefined if they are. */
export function findLoss({ path, dev, ino }: FileIdentity): string | undefined {
  let found: BigIntStats | undefined;
  try {
    found = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    return `${path} cannot be accessed (${(error as Error).message})`;
  }
  if (found === undefined) return `${path} was deleted or moved while it was in use`;
  return found.dev === dev && found.ino === ino ? undefined : `${path} was replaced while it was in use`;
}

/** The files of an open store. A change is durable only while these are the files at their paths. */
export interface StoreIdentity {
  /** The files that contain changes: the data file and its WAL. */
  readonly data: readonly FileIdentity[];
  /** Files that other processes must find at their paths to coordinate with this process. */
  readonly sharedFiles: readonly FileIdentity[];
  /** For detecting files that were truncated; undefined in a command, which has the store open only briefly. */
  readonly open: FileDescriptors | undefined;
}

/** `path` is the configured path, which may be a link. The data file must be open. Throws system errors. */
export function readStoreIdentity(
  path: string,
  { data, lock }: StoreFiles,
  isServing: boolean,
  open?: FileDescriptors,
): StoreIdentity {
  const identify = (name: string) => toFileIdentity(name, statSync(name, { bigint: true }));
  return {
    data: [resolve(path), `${data}-wal`].map(identify),
    sharedFiles: [`${data}-shm`, ...(isServing ? [lock] : [])].map(identify),
    open,
  };
}

const remedy =
  'changes are rejected; put the same file back, or save the data as described in "Lost store files" in docs/troubleshooting.md';

const truncatedRemedy =
  'changes are rejected, because the latest changes are lost; before you stop the service, save what is left as described in "Lost store files" in docs/troubleshooting.md';

/** Reason why a change to the data could be lost; undefined if it would be durable. */
export function findDataLoss({ data, open }: StoreIdentity): string | undefined {
  return findReplacement(data) ?? describeTruncation(data, open);
}

/** Like `findDataLoss`, but checks all files. */
export function findStoreLoss(identity: StoreIdentity): string | undefined {
  return findDataLoss(identity) ?? findReplacement(identity.sharedFiles);
}

/** Whether SQLite may copy the WAL to the data file without verifying it. */
export function isWalIntact({ data, open }: StoreIdentity): boolean {
  try {
    return open === undefined || (describeTruncation(data, open) === undefined && areFramesIntact(open));
  } catch {
    return false;
  }
}

function findReplacement(files: readonly FileIdentity[]): string | undefined {
  for (const file of files) {
    const loss = findLoss(file);
    if (loss !== undefined) return `${loss}: ${remedy}`;
  }
  return undefined;
}

function describeTruncation(
  [data, wal]: readonly FileIdentity[],
  open: FileDescriptors | undefined,
): string | undefined {
  let found: Truncation | undefined;
  try {
    found = open && checkTruncation(open);
  } catch (error) {
    return `${data?.path} cannot be accessed (${(error as Error).message})`;
  }
  if (found === undefined) return undefined;
  const path = { data, wal }[found.file]?.path;
  return `${path} was ${found.how} while it was in use: ${truncatedRemedy}`;
}
