import { existsSync } from 'node:fs';
import type { Clock } from '../../domain/clock.ts';
import { StorageUnavailable, StoreUnusableError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import type { StoreIdentity } from '../../store-files/file-identity.ts';
import { explainFileError, type StoreFiles } from '../../store-files/files.ts';
import type { LimitRules } from '../limit.ts';
import { createCommandLimits } from './command-limits.ts';
import { createLimitFile, fillFromPrevious, surveyFile, writeDirectory } from './create-limit-file.ts';
import { format, header } from './layout.ts';
import { LimitFile } from './limit-file.ts';
import { FileLimits, type FindNextAccount, type Limits } from './limits.ts';
import { recordServed, recordState } from './served-files.ts';

interface OpenLimitsOptions {
  readonly files: StoreFiles;
  readonly identity?: StoreIdentity;
  /**
   * `serving`: the process that holds the serving lock. It creates or repairs the file, and syncs it for all processes.
   * `worker`: another process of the same service. `beside`: a command that reads counts and lifts bans.
   */
  readonly role: 'serving' | 'worker' | 'beside';
  /** A number up to `maxWorkers`, unique among the service's processes; defaults to 0. */
  readonly worker?: number;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly notice: Notify;
  /** The number of changes to the store, which only increases. */
  readonly changes?: () => bigint;
  /** If set, records for all accounts are allocated immediately. */
  readonly nextAccount?: FindNextAccount;
}

/** Number of owner numbers to skip, because they may have been assigned between the last sync and a power failure. */
const lostOwners = 1_024;
/** Maximum owner number. A file in which all owner numbers have been assigned is rebuilt. */
const maxOwners = 2 ** 30;

/** Throws `StoreUnusableError`. */
export function openLimits(options: OpenLimitsOptions): Limits {
  const { files, role, clock, rules } = options;
  if (process.platform === 'win32') {
    throw new StoreUnusableError(
      'The embedded store maps a file into memory, which is not supported on Windows. Use PostgreSQL and Redis, or ' +
        'run the service in a container or in WSL.',
    );
  }
  try {
    if (role !== 'beside') return openCounting(options);
    return createCommandLimits(
      () => (existsSync(files.limits) ? openFile(files) : undefined),
      clock,
      rules.ban,
    );
  } catch (error) {
    throw unusable(files, error);
  }
}

function unusable({ limits }: StoreFiles, error: unknown): StoreUnusableError {
  if (error instanceof StoreUnusableError) return error;
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  const reason = explainFileError(cause as Error, limits);
  return new StoreUnusableError(`Cannot open the limit state ${limits}: ${reason}.`);
}

/** Throws `StoreUnusableError`. */
function openFile(files: StoreFiles): LimitFile {
  try {
    return new LimitFile(files.limits);
  } catch (error) {
    throw unusable(files, error);
  }
}

function openCounting(options: OpenLimitsOptions): Limits {
  const { files, identity, role, worker = 0, clock, rules, notice, nextAccount = () => undefined } = options;
  using opened = new DisposableStack();
  const isSyncing = role === 'serving';
  const file = opened.use(isSyncing ? openIntact(options) : new LimitFile(files.limits));
  if (isSyncing) beginRun(file, options);
  else if (!file.isSound) throw new StoreUnusableError(`${files.limits} is not being served.`);
  const limits = new FileLimits(file, {
    ...{ clock, rules, notice, worker, isSyncing, identity },
    onSync: () => record(file, options),
  });
  limits.makeRoom(nextAccount);
  opened.move();
  return limits;
}

/** Opens the file, and rebuilds it if it is damaged or full, or lacks room for strikes. */
function openIntact(options: OpenLimitsOptions): LimitFile {
  const { files, clock, rules, notice } = options;
  const { strikes } = rules.ban;
  if (!existsSync(files.limits)) return createLimitFile(files, { strikes, strictSince: 0 });
  using opened = new DisposableStack();
  const old = opened.use(new LimitFile(files.limits));
  const { isSound: isDated, i32 } = old;
  if (isDated && (i32[header.format] as number) > format)
    throw newer(files.limits, i32[header.format] as number);
  const survey = surveyFile(old);
  const isDamaged = !isDated || survey.isDamaged;
  const isFull = isDated && (i32[header.nextOwner] as number) > maxOwners;
  if (isDated && !isDamaged && (i32[header.extents] as number) > old.extentsBySize) {
    notice(`${files.limits} is shorter than it was: the counts and bans in the missing part were reset`);
  }
  if (old.i32.length > 0) writeDirectory(old, survey);
  if (!isDamaged && !isFull && old.strikes >= strikes) {
    opened.move();
    return old;
  }
  clock.share?.({ count: 0, aheadMs: isDated ? (old.f64[header.aheadMs] as number) : 0, add: () => true });
  const strictSince = isDamaged ? Math.floor(clock.steady() / 1_000) : old.strictSince;
  const file = createLimitFile(files, { strikes, strictSince }, (made) => {
    if (old.i32.length > 0) fillFromPrevious(made, { old, survey, isDated, clock, rules: rules.ban });
  });
  if (isDamaged) {
    notice(
      `limit state was damaged and ${files.limits} was rebuilt: limits that could not be read count as exhausted for a day`,
    );
  }
  return file;
}

/** Invalidates the locks of all earlier processes, and records the files in use. */
function beginRun(file: LimitFile, options: OpenLimitsOptions): void {
  const { i32, f64 } = file;
  const { files, clock } = options;
  const firstOwner = (i32[header.nextOwner] as number) + lostOwners;
  Atomics.store(i32, header.nextOwner, firstOwner);
  Atomics.store(i32, header.firstOwner, firstOwner);
  i32[header.failing] = 0;
  recordServed(files, i32.buffer);
  record(file, options);
  const aheadMs = f64[header.aheadMs] as number;
  // Resets an invalid offset, such as one that results in a time before 1970.
  if (!(clock.now() - aheadMs >= 0) || !Number.isFinite(aheadMs)) f64[header.aheadMs] = 0;
}

function record({ i32 }: LimitFile, { files, clock, changes }: OpenLimitsOptions): void {
  let counted = 0n;
  try {
    counted = changes?.() ?? 0n;
  } catch {
    // The store reports that its data cannot be read. The record keeps the last number.
  }
  recordState(files, i32.buffer, { nowMs: clock.now(), changes: counted });
}

function newer(path: string, itsFormat: number): StoreUnusableError {
  return new StoreUnusableError(
    `The limit state ${path} was written by a newer version of the service (format ${itsFormat}, this version ` +
      `supports up to ${format}). Use that version or a newer one.`,
  );
}
