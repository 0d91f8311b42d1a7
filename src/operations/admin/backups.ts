import type { BackupFault, NamedFile, VerificationResult } from '../../backup/backup.ts';
import type { BackupFolder } from '../../backup/folder.ts';
import type { BackupMaker } from '../../backup/maker.ts';
import {
  type Backup,
  type BackupState,
  type backupOperations,
  defaultLabel,
  type Verification,
} from '../../contract/admin/backups.ts';
import type { Concern } from '../../contract/admin/system.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { FileContent } from '../../contract/operation.ts';
import { type Actor, formatActor } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import { FairQueue } from '../../domain/fair-queue.ts';
import { toAuditEntry } from '../changes/by-operator.ts';
import { toIso } from '../presenters.ts';
import type { UnitWriter } from '../units.ts';
import type { HandlersOf } from './handlers.ts';

export interface BackupBackend {
  readonly maker: BackupMaker;
  readonly folder: BackupFolder;
}

export interface BackupSettings {
  /** Interval in ms; undefined if backups are created only on request. */
  readonly everyMs: number | undefined;
  readonly keep: number;
}

interface BackupContext extends BackupSettings {
  readonly store: Pick<UnitWriter, 'write'>;
  readonly clock: Clock;
  /** Undefined if backups are not possible: on a database server, or without a folder. */
  readonly backend: BackupBackend | undefined;
}

/** A failed backup is retried after this time, or after the backup interval if that is shorter. */
const retryMs = 300_000;

type ScheduledBackup =
  | { readonly kind: 'made'; readonly backup: Backup; readonly removed: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string };

/** Backup metrics. Counts start at zero when the service starts. */
export interface BackupMetrics {
  /** Interval in ms; undefined if backups are created only on request. */
  readonly everyMs: number | undefined;
  readonly latest: NamedFile | undefined;
  /** Duration of the latest backup since the service started; undefined if there is none. */
  readonly seconds: number | undefined;
  readonly made: number;
  readonly failed: number;
}

export class BackupOperations implements AsyncDisposable {
  readonly #context: BackupContext;
  readonly #stopping = new AbortController();
  /** Verifications that run or wait, by the name of the backup and the operator. */
  readonly #verifying = new Map<string, Promise<Verification>>();
  readonly #turns = new FairQueue<string>();
  #running: { readonly ended: Promise<unknown>; done: number; total: number } | undefined;
  #lastError: string | undefined;
  /** Time of the last failure (`steady`); undefined if the last backup succeeded. */
  #failedAt: number | undefined;
  /** Time of the latest backup, in Unix ms; undefined until the folder has been read. */
  #latest: number | undefined;
  #seconds: number | undefined;
  #made = 0;
  #failed = 0;

  constructor(context: BackupContext) {
    this.#context = context;
  }

  async state(): Promise<BackupState> {
    const { backend, everyMs, keep } = this.#context;
    let files: readonly NamedFile[] = [];
    let unreadable: string | undefined;
    try {
      files = (await backend?.folder.list()) ?? [];
    } catch (error) {
      unreadable = describeFailure(error);
    }
    return {
      folder: backend?.folder.path ?? null,
      everySeconds: everyMs === undefined ? null : Math.ceil(everyMs / 1_000),
      keep,
      running: this.#running === undefined ? null : { done: this.#running.done, total: this.#running.total },
      lastError: this.#lastError ?? unreadable ?? null,
      backups: files.map(presentBackup),
    };
  }

  /**
   * Creates a backup and resolves when it is complete. Throws `backup_not_possible`, or `backup_in_progress` if another
   * backup is running.
   */
  async create(actor: Actor, label: string): Promise<Backup> {
    const backup = await this.#create(label);
    const { lastVerification: _, ...recorded } = backup;
    const entry = this.#record(actor, 'createBackup', backup.name, JSON.stringify(recorded));
    await entry.catch((error: unknown) => {
      const message = `The backup ${backup.name} was created, but could not be recorded in the audit log: ${describeFailure(error)}`;
      throw new ApiError('backup_failed', { message, cause: error });
    });
    return backup;
  }

  /**
   * Returns a backup's file. The download is recorded in the audit log, because a backup contains the whole store.
   * Throws `backup_not_found`.
   */
  async download(actor: Actor, name: string): Promise<FileContent> {
    const { backend } = this.#context;
    const path = backend?.folder.pathOf(name);
    const exists = (await backend?.folder.list())?.some((file) => file.name === name) ?? false;
    if (path === undefined || !exists) throw new ApiError('backup_not_found');
    await this.#record(actor, 'downloadBackup', name, null);
    return { name, content: Bun.file(path) };
  }

  /**
   * Verifies a backup and stores the result. One process verifies at a time, alternating between operators, and an operator's
   * requests for the same backup share the result. Throws `backup_not_found`, or `backup_damaged` with a description of the
   * damage.
   */
  verify(actor: Actor, name: string): Promise<Verification> {
    const owner = formatActor(actor);
    const key = `${name} ${owner}`;
    const known = this.#verifying.get(key);
    if (known !== undefined) return known;
    const result = this.#turns
      .take(owner, () => this.#verify(name))
      .finally(() => this.#verifying.delete(key)) as Promise<Verification>;
    this.#verifying.set(key, result);
    return result;
  }

  async #verify(name: string): Promise<Verification> {
    const { backend } = this.#context;
    const path = backend?.folder.pathOf(name);
    if (backend === undefined || path === undefined) throw new ApiError('backup_not_found');
    const verified = await backend.maker
      .verify(path, { signal: this.#stopping.signal })
      .catch(async (error: unknown) => {
        if (backupFault(error) === 'damaged')
          await this.#note(name, { isSound: false, message: describeFailure(error), counts: null });
        throw toVerificationError(error);
      });
    if (verified.kind !== 'backup') throw new ApiError('backup_not_found');
    const { createdAt, format, counts } = verified;
    await this.#note(name, { isSound: true, message: null, counts });
    return { name, createdAt: toIso(createdAt), format, counts };
  }

  /** The warning that backups are failing; undefined while they succeed. */
  get concern(): Concern | undefined {
    if (this.#lastError === undefined) return undefined;
    return {
      what: `The last backup failed: ${this.#lastError}`,
      remedy: 'Correct the problem, then create a backup. Scheduled backups are retried automatically.',
    };
  }

  /**
   * The warning that a scheduled backup is overdue, according to the folder, so that it does not depend on the process
   * that makes the backups. Undefined until the first retry of a failed backup.
   */
  async overdue(): Promise<Concern | undefined> {
    const { backend, everyMs, clock } = this.#context;
    if (backend === undefined || everyMs === undefined) return undefined;
    const latest = await findLatestBackup(backend.folder, clock.now());
    if (latest !== undefined && clock.now() - latest.createdAt <= everyMs + retryMs) return undefined;
    const found =
      latest === undefined ? 'There is no backup' : `The latest backup is from ${toIso(latest.createdAt)}`;
    return {
      what: `${found} in ${backend.folder.path}, so a scheduled backup is overdue (BACKUP_EVERY).`,
      remedy:
        'Check that the service is running, and correct the problem that its log names ("backup failed").',
    };
  }

  /** Undefined without a backup folder. */
  async metrics(): Promise<BackupMetrics | undefined> {
    const { backend, everyMs, clock } = this.#context;
    if (backend === undefined) return undefined;
    const latest = await findLatestBackup(backend.folder, clock.now());
    return { everyMs, latest, seconds: this.#seconds, made: this.#made, failed: this.#failed };
  }

  /** Creates a backup if one is due, and deletes excess backups. Returns undefined if none is due. */
  async createDue(): Promise<ScheduledBackup | undefined> {
    if (this.#running !== undefined || !(await this.#isDue())) return undefined;
    try {
      const backup = await this.#create(null);
      const removed = (await this.#context.backend?.folder.prune(this.#context.keep, backup.name)) ?? [];
      return { kind: 'made', backup, removed };
    } catch (error) {
      return this.#stopping.signal.aborted ? undefined : { kind: 'failed', reason: describeFailure(error) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running?.ended.catch(() => undefined);
  }

  async #isDue(): Promise<boolean> {
    const { backend, everyMs, clock } = this.#context;
    if (backend === undefined || everyMs === undefined) return false;
    const now = clock.now();
    if (this.#failedAt !== undefined) return clock.steady() >= this.#failedAt + Math.min(everyMs, retryMs);
    this.#latest ??= (await findLatestBackup(backend.folder, now))?.createdAt ?? Number.NEGATIVE_INFINITY;
    // If the latest backup is dated in the future because the clock was set back, a new one is due immediately.
    return now >= this.#latest + everyMs || now < this.#latest;
  }

  async #record(actor: Actor, operation: string, name: string, after: string | null): Promise<void> {
    const { store, clock } = this.#context;
    const what = { operation, object: `backup:${name}`, before: null, after };
    await store.write('recordAudit', toAuditEntry({ actor, clock }, what));
  }

  async #note(name: string, result: Omit<VerificationResult, 'at'>): Promise<void> {
    const { backend, clock } = this.#context;
    // If the folder is not writable, the verification still returns its result.
    await backend?.folder.noteVerified(name, { at: clock.now(), ...result }).catch(() => undefined);
  }

  async #create(label: string | null): Promise<Backup> {
    const { backend, clock } = this.#context;
    if (backend === undefined) throw new ApiError('backup_not_possible');
    if (this.#running !== undefined) throw new ApiError('backup_in_progress');
    const { maker, folder } = backend;
    // Rounded down to the second, like the time in the file name.
    const now = Math.floor(clock.now() / 1_000) * 1_000;
    const name = folder.nameAt(now, label);
    const running = { ended: Promise.resolve<unknown>(undefined), done: 0, total: 0 };
    this.#running = running;
    const startedAt = clock.steady();
    try {
      await folder.prepare();
      const making = maker.create(folder.pathOf(name) as string, {
        replace: false,
        now,
        signal: this.#stopping.signal,
        onProgress: (done, total) => Object.assign(running, { done, total }),
      });
      running.ended = making;
      const { bytes } = await making;
      this.#lastError = undefined;
      this.#failedAt = undefined;
      this.#latest = now;
      this.#seconds = (clock.steady() - startedAt) / 1_000;
      this.#made++;
      return presentBackup({ name, bytes, createdAt: now, label, verified: null });
    } catch (error) {
      if (backupFault(error) === 'exists') throw new ApiError('backup_in_progress');
      this.#lastError = describeFailure(error);
      this.#failedAt = clock.steady();
      this.#failed++;
      throw new ApiError('backup_failed', { message: this.#lastError, cause: error });
    } finally {
      this.#running = undefined;
    }
  }
}

function presentBackup({ name, label, bytes, createdAt, verified }: NamedFile): Backup {
  return {
    name,
    label,
    bytes,
    createdAt: toIso(createdAt),
    lastVerification: verified && {
      ...verified,
      at: toIso(verified.at),
      counts: verified.counts && { ...verified.counts },
    },
  };
}

/** The latest backup, ignoring backups dated in the future; undefined if there is none or the folder cannot be read. */
async function findLatestBackup(folder: BackupFolder, now: number): Promise<NamedFile | undefined> {
  const files = await folder.list().catch(() => []);
  return files.find(({ createdAt }) => createdAt <= now);
}

function backupFault(error: unknown): BackupFault | undefined {
  return error instanceof Error && 'fault' in error ? (error.fault as BackupFault) : undefined;
}

function describeFailure(error: unknown): string {
  if (error instanceof ApiError) return error.message ?? error.code;
  return error instanceof Error ? error.message : String(error);
}

function toVerificationError(error: unknown): unknown {
  const fault = backupFault(error);
  if (fault === undefined) return error;
  if (fault === 'missing' || fault === 'foreign') return new ApiError('backup_not_found');
  const message = describeFailure(error);
  if (fault === 'damaged') return new ApiError('backup_damaged', { message });
  return new ApiError('backup_failed', { message, cause: error });
}

export const backupHandlers = {
  listBackups: ({ backups }) => backups.state(),
  createBackup: ({ backups }, { body: { label = defaultLabel } }, { actor }) => backups.create(actor, label),
  downloadBackup: ({ backups }, { query }, { actor }) => backups.download(actor, query.name),
  verifyBackup: ({ backups }, { body }, { actor }) => backups.verify(actor, body.name),
} satisfies HandlersOf<{ readonly backups: BackupOperations }, typeof backupOperations>;
