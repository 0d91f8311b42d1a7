/** Sends units of work over a port, from a process or thread that serves requests to the writing process or thread. */
import { ApiError } from '../contract/api-error.ts';
import { DeadlineQueue, type Pending } from '../outages/deadline-queue.ts';
import { DataDamagedError, StorageUnavailable, WriteUncertainError } from '../outages/errors.ts';
import { describeError, type Notify, Outage } from '../outages/outage.ts';
import type { QueueFacts } from './group-queue.ts';
import type { MessagePortLike } from './storage.ts';
import type { Units, Writer } from './transaction.ts';

interface SentCall {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

interface SentError {
  readonly kind: 'apiError' | 'unavailable' | 'damaged' | 'uncertain' | 'error';
  readonly code?: ApiError['code'];
  readonly details?: ApiError['details'];
  readonly message?: string | undefined;
  readonly scope?: string | undefined;
  readonly reason?: string;
}

type SentOutcome =
  | { readonly id: number; readonly outcome: unknown }
  | { readonly id: number; readonly error: SentError };

interface Outcomes {
  readonly outcomes: readonly SentOutcome[];
  readonly facts: QueueFacts;
}

interface PendingWrite extends Pending {
  readonly resolve: (outcome: never) => void;
}

interface Observers {
  readonly notice: Notify;
  /** Called whenever a write may have been committed. */
  readonly onOutcome: () => void;
  readonly onDamage: (damage: DataDamagedError) => void;
}

/** Id of a message that does not belong to a call, but only reports whether writes succeed. */
const statusOnlyId = 0;
/** Maximum number of writes in flight. Additional writes are rejected immediately. */
const maxPending = 10_000;
/** Timeout for a write, in case the disk blocks its commit. */
const replyTimeoutMs = 10_000;
const checkIntervalMs = 500;

/** Sends units of work to the other end of a port. Units of the same event-loop tick share a message. */
export class PortWriter implements Writer<Units> {
  readonly #port: MessagePortLike;
  readonly #outage: Outage;
  readonly #onDamage: Observers['onDamage'];
  readonly #pending = new DeadlineQueue<PendingWrite>({
    maxEntries: maxPending,
    overload: (size) => new StorageUnavailable(`too many queued writes (${size})`),
    expiry: { intervalMs: checkIntervalMs, run: () => this.#giveUpLate() },
  });
  #calls: SentCall[] = [];
  #idle: (() => void)[] = [];
  /** Reason why writes are rejected immediately: the writer does not respond, or has exited. */
  #silence: string | undefined;
  #facts: QueueFacts = { groups: 0, units: 0, seconds: 0, waiting: 0 };

  constructor(port: MessagePortLike, { notice, onOutcome, onDamage }: Observers) {
    this.#port = port;
    this.#onDamage = onDamage;
    this.#outage = new Outage('animal storage', notice, true);
    port.listen((message) => {
      this.#silence = undefined;
      onOutcome();
      const { outcomes, facts } = message as Outcomes;
      this.#facts = facts;
      for (const outcome of outcomes) this.#settle(outcome);
      this.#rest();
    });
  }

  /** Error of the last write, unless only a part of the file is damaged; undefined if the write succeeded. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** Statistics from the other end's last message, and the number of writes for which this end is waiting. */
  get facts(): QueueFacts {
    return { ...this.#facts, waiting: this.#pending.size };
  }

  get isSilent(): boolean {
    return this.#silence !== undefined;
  }

  write(name: string, input: unknown): Promise<never> {
    if (this.#silence !== undefined) return Promise.reject(new StorageUnavailable(this.#silence));
    return new Promise((resolve, reject) => {
      const id = this.#pending.add({ resolve, reject, dueAt: performance.now() + replyTimeoutMs });
      if (this.#calls.length === 0) setImmediate(() => this.#post());
      this.#calls.push({ id, name, input });
    });
  }

  /** Rejects all current and later writes, because the other end has exited. */
  end(reason: string): void {
    this.#giveUp(reason);
    this.#silence = reason;
  }

  idle(): Promise<void> {
    return this.#pending.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  #post(): void {
    const calls = this.#calls;
    this.#calls = [];
    this.#port.post(calls);
  }

  #settle(sentOutcome: SentOutcome): void {
    const pending = this.#pending.remove(sentOutcome.id);
    if ('outcome' in sentOutcome) {
      this.#outage.end();
      pending?.resolve(sentOutcome.outcome as never);
      return;
    }
    const error = deserializeError(sentOutcome.error);
    // Damage lasts, but other writes succeed.
    if (error instanceof DataDamagedError) this.#onDamage(error);
    else if (error instanceof StorageUnavailable) this.#outage.begin(describeError(error));
    pending?.reject(error);
  }

  #giveUpLate(): void {
    this.#giveUp(`no commit was finished within ${replyTimeoutMs} ms`, performance.now());
  }

  /**
   * Rejects the writes whose deadline has passed at `now`. Without `now`, rejects all writes. Rejected writes may still
   * be committed.
   */
  #giveUp(reason: string, now?: number): void {
    if (this.#pending.expire(new WriteUncertainError(reason), now) === 0) return;
    this.#silence = reason;
    this.#outage.begin(reason);
    this.#rest();
  }

  #rest(): void {
    if (this.#pending.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

interface CountingWriter extends Writer<Units> {
  readonly facts: QueueFacts;
  /** Reason why every write would fail, detected without a write; undefined if there is none. */
  readonly loss: string | undefined;
}

const lossCheckIntervalMs = 1_000;

export class WriteServer {
  readonly #writer: CountingWriter;
  readonly #ports = new Set<MessagePortLike>();
  /** Failure of the last write that found no damage; undefined if the write succeeded. */
  #failure: SentError | undefined;
  #damage: SentError | undefined;
  #lostFilesCheck: NodeJS.Timeout | undefined;
  /** Whether the write failed because a file of the store was lost. The file may be restored without a write. */
  #isLost = false;

  constructor(writer: CountingWriter) {
    this.#writer = writer;
  }

  /**
   * Executes the writes that arrive at a port. Outcomes of units in the same group share a message. Dispose of the
   * result after the other end has exited.
   */
  serve(port: MessagePortLike): Disposable {
    let outcomes: SentOutcome[] = [];
    const settle = (outcome: SentOutcome) => {
      if (outcomes.length === 0) {
        queueMicrotask(() => {
          port.post(this.#outcomes(outcomes));
          outcomes = [];
        });
      }
      outcomes.push(outcome);
      this.#note(outcome, port);
    };
    port.listen((message) => {
      for (const { id, name, input } of message as SentCall[]) {
        this.#writer.write(name, input as never).then(
          (outcome) => settle({ id, outcome }),
          (error) => settle({ id, error: serializeError(error) }),
        );
      }
    });
    this.#ports.add(port);
    this.#lostFilesCheck ??= setInterval(() => this.#checkForLostFiles(), lossCheckIntervalMs).unref();
    for (const error of [this.#damage, this.#failure])
      if (error !== undefined) port.post(this.#outcomes([{ id: statusOnlyId, error }]));
    return {
      [Symbol.dispose]: () => {
        this.#ports.delete(port);
        if (this.#ports.size > 0) return;
        clearInterval(this.#lostFilesCheck);
        this.#lostFilesCheck = undefined;
      },
    };
  }

  /** Notifies all ports even if no process writes. */
  #checkForLostFiles(): void {
    const { loss } = this.#writer;
    if (loss !== undefined)
      this.#note({ id: statusOnlyId, error: serializeError(new StorageUnavailable(loss)) });
    else if (this.#isLost) this.#note({ id: statusOnlyId, outcome: null });
  }

  /**
   * Notifies all ports except the sender when damage is found, when writes begin to fail, and when they succeed again.
   */
  #note(outcome: SentOutcome, sender?: MessagePortLike): void {
    const failure = 'error' in outcome ? outcome.error : undefined;
    if (failure?.kind === 'apiError' || failure?.kind === 'error') return;
    if (failure?.kind === 'damaged') {
      if (this.#damage === undefined) this.#notify(failure, sender);
      this.#damage = failure;
      return;
    }
    const isNew = (failure === undefined) !== (this.#failure === undefined);
    this.#failure = failure;
    if (!isNew) return;
    this.#isLost = failure !== undefined && this.#writer.loss !== undefined;
    this.#notify(failure, sender);
  }

  #notify(error: SentError | undefined, sender?: MessagePortLike): void {
    const id = statusOnlyId;
    const status: SentOutcome = error === undefined ? { id, outcome: null } : { id, error };
    for (const port of this.#ports) if (port !== sender) port.post(this.#outcomes([status]));
  }

  #outcomes(outcomes: readonly SentOutcome[]): Outcomes {
    return { outcomes, facts: this.#writer.facts };
  }
}

function serializeError(error: unknown): SentError {
  if (error instanceof StorageUnavailable) {
    const isDamage = error instanceof DataDamagedError;
    const kind = isDamage ? 'damaged' : error instanceof WriteUncertainError ? 'uncertain' : 'unavailable';
    return { kind, reason: describeError(error), message: error.message };
  }
  if (error instanceof ApiError) {
    const { code, details, message, scope } = error;
    return { kind: 'apiError', code, details, message, scope };
  }
  return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

function deserializeError({ kind, code, details, message, scope, reason = '' }: SentError): unknown {
  if (kind === 'uncertain') return new WriteUncertainError(reason);
  if (kind === 'damaged') return new DataDamagedError(reason);
  if (kind === 'unavailable') return new StorageUnavailable(reason, undefined, message);
  if (kind === 'apiError' && code !== undefined) {
    return new ApiError(code, { details: [...(details ?? [])], message, scope });
  }
  return new Error(`A unit of work failed: ${message}`);
}
