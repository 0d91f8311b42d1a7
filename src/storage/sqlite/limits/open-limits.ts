/** Opens the limit state of a store, for the service or beside it. */
import { existsSync } from 'node:fs';
import type { Clock } from '../../../domain/clock.ts';
import type { LimitRules } from '../../../domain/limit.ts';
import type { Notice } from '../../outage.ts';
import { StorageUnusable } from '../../storage.ts';
import { fileReason, type StoreFiles } from '../files.ts';
import { limitsBeside } from './beside.ts';
import { formerFile, readFormer, removeFormer } from './former-limits.ts';
import { format, header } from './layout.ts';
import { LimitFile } from './limit-file.ts';
import { type Limits, SqliteLimits } from './limits.ts';
import { fillFromFormer, fillFromRemains, makeLimits } from './making.ts';
import { surveyOf, writeDirectory } from './survey.ts';

export interface OpenLimits {
  readonly files: StoreFiles;
  /**
   * `serving`: the process that has the serving lock; it makes or mends the file, begins a run and syncs for all.
   * `worker`: another process of its service. `beside`: only reads and lifts bans.
   */
  readonly role: 'serving' | 'worker' | 'beside';
  /** A number up to `mostWorkers` that no other process of the service has at the time; 0 unless given. */
  readonly worker?: number;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly notice: Notice;
  /** The serving lock, for who is beside and has to take an older version's file over; undefined when it is held. */
  readonly lock: () => Disposable | undefined;
  /** The highest id of an account that there is: room for it is made at once. */
  readonly lastAccountId?: number;
}

/** So many of the owner numbers given last may not have been synced before the power failed. */
const lostOwners = 1_024;
/** Most owner numbers; a file that gave so many is made anew. */
const mostOwners = 2 ** 30;

/** Throws `StorageUnusable`. */
export function openLimits(options: OpenLimits): Limits {
  const { files, role } = options;
  if (process.platform === 'win32') {
    throw new StorageUnusable(
      'The embedded store maps a file into memory, which is not supported on Windows. Use PostgreSQL and Redis, or ' +
        'run the service in a container or in WSL.',
    );
  }
  try {
    return role === 'beside' ? openBeside(options) : openCounting(options);
  } catch (error) {
    throw unusable(files, error);
  }
}

function unusable({ limits }: StoreFiles, error: unknown): StorageUnusable {
  if (error instanceof StorageUnusable) return error;
  return new StorageUnusable(`Cannot open the limit state ${limits}: ${fileReason(error as Error, limits)}.`);
}

/** Throws `StorageUnusable`. */
function openFile(files: StoreFiles): LimitFile {
  try {
    return new LimitFile(files.limits);
  } catch (error) {
    throw unusable(files, error);
  }
}

function openCounting(options: OpenLimits): Limits {
  const { files, role, worker = 0, clock, rules, notice, lastAccountId = 0 } = options;
  using opened = new DisposableStack();
  const isSyncing = role === 'serving';
  const file = opened.use(isSyncing ? openSound(options) : new LimitFile(files.limits));
  if (isSyncing) {
    beginRun(file, clock);
    removeFormer(files);
  } else if (!file.isSound) throw new StorageUnusable(`${files.limits} is not being served.`);
  const limits = new SqliteLimits(file, { clock, rules, notice, worker, isSyncing });
  limits.makeRoom(lastAccountId);
  opened.move();
  return limits;
}

/** The file as it may be served: with room for the strikes there are, and all that could be read of what it was. */
function openSound(options: OpenLimits): LimitFile {
  const { files, clock, rules, notice } = options;
  const { strikes } = rules.ban;
  if (!existsSync(files.limits)) return makeFirst(options);
  using opened = new DisposableStack();
  const old = opened.use(new LimitFile(files.limits));
  const { isSound: isDated, i32 } = old;
  if (isDated && (i32[header.format] as number) > format)
    throw newer(files.limits, i32[header.format] as number);
  const survey = surveyOf(old);
  const isDamaged = !isDated || survey.isDamaged;
  const isFull = isDated && (i32[header.nextOwner] as number) > mostOwners;
  if (isDated && !isDamaged && (i32[header.extents] as number) > old.extentsBySize) {
    notice(`${files.limits} is shorter than it was: counts and bans that stood at its end begin anew`);
  }
  if (old.i32.length > 0) writeDirectory(old, survey);
  if (!isDamaged && !isFull && old.strikes >= strikes) {
    opened.move();
    return old;
  }
  clock.share?.({ count: 0, aheadMs: isDated ? (old.f64[header.aheadMs] as number) : 0, add: () => true });
  const strictSince = isDamaged ? Math.floor(clock.steady() / 1_000) : old.strictSince;
  const file = makeLimits(files.limits, { strikes, strictSince }, (made) => {
    if (old.i32.length > 0) fillFromRemains(made, { old, survey, isDated, clock, rules: rules.ban });
  });
  if (isDamaged) {
    notice(
      `limit state was damaged and ${files.limits} was rebuilt: what could not be read counts as used up for a day`,
    );
  }
  return file;
}

function makeFirst({ files, clock, rules, notice }: OpenLimits): LimitFile {
  const former = formerFile(files);
  const how = { strikes: rules.ban.strikes, strictSince: 0 };
  if (former === undefined) return makeLimits(files.limits, how, () => undefined);
  clock.share?.({ count: 0, aheadMs: 0, add: () => true });
  try {
    const state = readFormer(former, clock);
    let beyond = 0;
    const file = makeLimits(files.limits, how, (made) => {
      beyond = fillFromFormer(made, state);
    });
    if (beyond > 0)
      notice(`limit state has no room for ${beyond} records of ${former}: their ids are too high`);
    return file;
  } catch (error) {
    if (error instanceof StorageUnusable) throw error;
    const reason = fileReason(error as Error, files.limits);
    throw new StorageUnusable(`Cannot migrate the limit state from ${former} to ${files.limits}: ${reason}.`);
  }
}

/** From here on the locks of all earlier processes are free. */
function beginRun({ i32, f64 }: LimitFile, clock: Clock): void {
  const firstOwner = (i32[header.nextOwner] as number) + lostOwners;
  Atomics.store(i32, header.nextOwner, firstOwner);
  Atomics.store(i32, header.firstOwner, firstOwner);
  i32[header.failing] = 0;
  const aheadMs = f64[header.aheadMs] as number;
  // Steady time before 1970 would be none.
  if (!(clock.now() - aheadMs >= 0) || !Number.isFinite(aheadMs)) f64[header.aheadMs] = 0;
}

function newer(path: string, itsFormat: number): StorageUnusable {
  return new StorageUnusable(
    `The limit state ${path} was written by a newer version of the service (format ${itsFormat}, this version ` +
      `supports up to ${format}). Use that version or a newer one.`,
  );
}

function openBeside(options: OpenLimits): Limits {
  const { files, clock, rules, lock } = options;
  if (!existsSync(files.limits) && formerFile(files) !== undefined) {
    using held = lock();
    if (held === undefined) throw inUse(files);
    if (!existsSync(files.limits)) makeFirst(options)[Symbol.dispose]();
    removeFormer(files);
  }
  const open = () => (existsSync(files.limits) ? openFile(files) : undefined);
  return limitsBeside(open, clock, rules.ban);
}

function inUse({ data }: StoreFiles): StorageUnusable {
  return new StorageUnusable(
    `The store ${data} is in use by an older version of the service. Upgrade or stop the service first, or run this ` +
      'command in the version of the service. Nothing was changed.',
  );
}
