import { existsSync } from 'node:fs';
import { finishRestore, isRestoreUnfinished, removeCopy } from '../backup/restored-limits.ts';
import { isStoreIntact } from '../backup/verify.ts';
import type { Caller } from '../domain/caller.ts';
import { damageRemedy, troubles } from '../domain/troubles.ts';
import type { Limits } from '../limits/file/limits.ts';
import { openLimits } from '../limits/file/open-limits.ts';
import {
  clearServedRecord,
  expectNoLostChanges,
  expectServedFiles,
  isMarkedClosed,
  readRecordedChanges,
  recordClosed,
} from '../limits/file/served-files.ts';
import type { BanRules } from '../limits/limit.ts';
import type { Admission, LimitStore } from '../limits/limit-store.ts';
import { StoreUnusableError } from '../outages/errors.ts';
import type { Notify } from '../outages/outage.ts';
import type { WriterLocation } from '../storage/sqlite/connect-writer.ts';
import { type Migrations, toDamageError } from '../storage/sqlite/database.ts';
import {
  type DataFile,
  findAccountIdFrom,
  openDataFile,
  openSqlite,
  readChangeCount,
  type SqliteStore,
} from '../storage/sqlite/sqlite.ts';
import { isWalIntact, readStoreIdentity } from '../store-files/file-identity.ts';
import {
  listExposedFiles,
  prepareStoreFiles,
  type StoreFiles,
  saveBeforeStopping,
} from '../store-files/files.ts';
import { OpenFiles } from '../store-files/open-files.ts';
import { createServingLock, expectNoDeletedFile, tryLock } from '../store-files/serving-lock.ts';
import type { LimitedStore, LimitedStoreSettings } from './limited-store.ts';

interface EmbeddedOptions extends LimitedStoreSettings {
  readonly path: string;
  readonly writer: WriterLocation;
  readonly migrations?: Migrations;
}

/** Time a command waits for another process to finish migrating the store. */
const managingLockWaitMs = 500;

/**
 * Opens the embedded store: a data file, and a file next to it with the limit state. A serving process acquires the
 * serving lock before it changes anything, and holds it until its files are closed. Throws `StoreUnusableError`.
 */
export function openEmbedded(options: EmbeddedOptions): LimitedStore {
  try {
    return openFiles(options);
  } catch (error) {
    throw toDamageError(error, options.path) ?? error;
  }
}

/** The files of the store that the supervisor has open. Throws `StoreUnusableError` instead of creating another store. */
function findServedFiles(path: string): StoreFiles {
  if (!existsSync(path)) {
    throw new StoreUnusableError(
      `The data file ${path} was moved, deleted, or is no longer mounted. ${saveBeforeStopping}`,
    );
  }
  return prepareStoreFiles(path, false);
}

function openFiles(options: EmbeddedOptions): LimitedStore {
  const { path, clock, rules, isServing, create, writer, notice } = options;
  using opened = new DisposableStack();
  // A worker needs no lock, because its supervisor holds the lock.
  const worker = writer.kind === 'supervisor' ? writer.worker.number : 0;
  const role = worker > 0 ? 'worker' : isServing ? 'serving' : 'beside';
  if (role !== 'worker') expectNoDeletedFile(path);
  const files = role === 'worker' ? findServedFiles(path) : prepareStoreFiles(path, create);
  expectConsistentFiles(files, role, notice);
  let isOpen = false;
  // A command that is rejected, for example because the store is older, does not change the record.
  if (isMarkedClosed(files.limits)) opened.defer(() => void (isOpen || recordClosed(files)));
  const lock = createLock(role === 'serving', files, opened);
  const descriptors = opened.use(new OpenFiles());
  const dataFile = opened.use(openDataFile({ ...options, files, isWorker: role === 'worker', lock }));
  if (role !== 'worker') {
    if (isRestoreUnfinished(dataFile.data)) {
      using held = lock();
      if (held !== undefined) finishRestore(files);
    } else expectAllChanges(dataFile);
    // If another process holds the lock, it removes the record.
    if (isMarkedClosed(files.limits)) lock()?.[Symbol.dispose]();
  }
  if (role === 'serving') {
    lock();
    removeCopy(files);
  }
  const isCommand = role === 'beside';
  const identity = readStoreIdentity(
    path,
    files,
    !isCommand,
    isCommand ? undefined : descriptors.open(files.data),
  );
  const limits = openLimits({
    ...{ files, identity, role, worker, clock, rules, notice },
    changes: () => readChangeCount(dataFile),
    nextAccount: (least) => findAccountIdFrom(dataFile, least),
  });
  if (role === 'serving') warnOfExposedFiles(files, notice);
  const store = openSqlite(dataFile, { ...options, identity });
  isOpen = true;
  const resources = opened.move();
  return withLimits(store, limits, {
    limits: createLimitStore(limits, store, rules.ban),
    [Symbol.asyncDispose]: async () => {
      if (resources.disposed) return;
      const isLost = store.dataLoss?.() !== undefined;
      await store[Symbol.asyncDispose]();
      await limits.close();
      if (!isWalIntact(identity)) {
        dataFile.keepUnchanged();
        if (!isLost) notice(damagedWal(files));
      }
      resources.dispose();
      // A lost WAL may be put back.
      if (role !== 'worker' && !isLost) recordClosed(files);
    },
  });
}

/** Throws `StoreUnusableError` if the store has fewer changes than were recorded. */
function expectAllChanges(dataFile: DataFile): void {
  const { files } = dataFile;
  const [recorded, found] = [readRecordedChanges(files.limits), readChangeCount(dataFile)];
  // Closing the last connection would delete the WAL, with the changes after a damaged part.
  if (found < recorded) dataFile.keepUnchanged();
  expectNoLostChanges(files, recorded, found);
}

function damagedWal({ data }: StoreFiles): string {
  return `${data}-wal is damaged, so the data file does not get its changes: ${damageRemedy}`;
}

/** Throws `StoreUnusableError` unless the files belong together. */
export function expectConsistentFiles(
  files: StoreFiles,
  role: 'serving' | 'worker' | 'beside',
  notice: Notify,
): void {
  expectServedFiles(files, role, (data) => {
    if (!isStoreIntact(data)) return false;
    notice(
      `another program has modified ${data} since the service was killed; the file is intact together with its WAL`,
    );
    return true;
  });
}

/**
 * Returns a function that acquires the serving lock. Must be called before the data file is opened: a service removes the
 * record of its files after it has closed the data file, which deletes the WAL.
 */
function createLock(isServing: boolean, files: StoreFiles, opened: DisposableStack) {
  const acquire = isServing ? createServingLock(files, opened) : () => tryLock(files, managingLockWaitMs);
  let isLocked = false;
  if (isServing) opened.defer(() => isLocked && clearServedRecord(files));
  return (): Disposable | undefined => {
    const held = acquire();
    isLocked = held !== undefined;
    if (isLocked) clearServedRecord(files);
    return held;
  };
}

function withLimits(
  store: SqliteStore,
  limits: Limits,
  own: Pick<LimitedStore, 'limits' | typeof Symbol.asyncDispose>,
): LimitedStore {
  const { serveWorker } = store;
  return {
    ...store,
    ...own,
    ...(serveWorker && {
      serveWorker: (worker, port) => {
        const served = serveWorker(worker, port);
        return {
          [Symbol.dispose]: () => {
            served[Symbol.dispose]();
            limits.freeLocksOf(worker);
          },
        };
      },
    }),
    health: () => {
      const found = store.health();
      limits.expectIntact();
      return [...found, ...(limits.trouble === undefined ? [] : [troubles.limitFile])];
    },
  };
}

function warnOfExposedFiles(files: StoreFiles, notice: Notify): void {
  const open = listExposedFiles(files);
  if (open.length === 0) return;
  notice(
    `other users of this machine can access the store: ${open.join(', ')}; run chmod go= on these files to prevent it`,
  );
}

/** Counts a request only if its caller is up to date. */
function createLimitStore(limits: Limits, store: SqliteStore, banRules: BanRules): LimitStore {
  return {
    banRules,
    versions: () => store.versions(),
    knownVersions: () => store.versions(),
    take(caller: Caller, callersVersion: number): Admission {
      const versions = store.versions();
      const verdict = versions.callers === callersVersion ? limits.take(caller) : undefined;
      return { verdict, versions };
    },
    standing: (caller) => ({ ...limits.standing(caller), versions: store.versions() }),
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    failUnder: (address, callersVersion) =>
      store.versions().callers === callersVersion ? limits.fail(address) : undefined,
    peek: (address) => limits.peek(address),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
  };
}
