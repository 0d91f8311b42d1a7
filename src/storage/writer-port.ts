/** Units of work over a port, from a process or thread that serves requests to the one that writes. */
import { Refusal } from '../contract/refusal.ts';
import { DeadlineQueue, type Pending } from './deadline-queue.ts';
import type { QueueFacts } from './group-queue.ts';
import { failureText, type Notice, Outage } from './outage.ts';
import { type Port, StorageUnavailable, WriteUncertain } from './storage.ts';
import type { Units, Writer } from './transaction.ts';

interface SentCall {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

interface SentError {
  readonly kind: 'refusal' | 'unavailable' | 'uncertain' | 'error';
  readonly code?: Refusal['code'];
  readonly details?: Refusal['details'];
  readonly message?: string | undefined;
  readonly scope?: string | undefined;
  readonly reason?: string;
}

type SentOutcome =
  | { readonly id: number; readonly outcome: unknown }
  | { readonly id: number; readonly error: SentError };

interface Answers {
  readonly outcomes: readonly SentOutcome[];
  readonly facts: QueueFacts;
}

interface PendingWrite extends Pending {
  readonly resolve: (outcome: never) => void;
}

/** The id of an outcome without a call, which reports only whether writes work. */
const nobodys = 0;
/** Most writes in flight; further ones are refused at once. */
const mostPending = 10_000;
/** Time-out of a write: the disk hangs in the middle of a commit. */
const answerWithinMs = 10_000;
const lookEveryMs = 500;

/** Sends units of work to the other end of a port, those of an event-loop tick in one message. */
export class PortWriter implements Writer<Units> {
  readonly #port: Port;
  readonly #outage: Outage;
  readonly #pending = new DeadlineQueue<PendingWrite>({
    most: mostPending,
    overload: (size) => new StorageUnavailable(`too many queued writes (${size})`),
    look: { everyMs: lookEveryMs, work: () => this.#giveUpLate() },
  });
  #calls: SentCall[] = [];
  #idle: (() => void)[] = [];
  /** Why writes are refused at once: the writer does not respond, or has ended. */
  #silence: string | undefined;
  #facts: QueueFacts = { groups: 0, units: 0, seconds: 0, waiting: 0 };

  /** `onOutcome` is called whenever something may have been committed. */
  constructor(port: Port, notice: Notice, onOutcome: () => void) {
    this.#port = port;
    this.#outage = new Outage('animal storage', notice);
    port.listen((message) => {
      this.#silence = undefined;
      onOutcome();
      const { outcomes, facts } = message as Answers;
      this.#facts = facts;
      for (const outcome of outcomes) this.#settle(outcome);
      this.#rest();
    });
  }

  /** Why the last write failed; undefined if it did not. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** Statistics of the other end as of its last message, and the writes in flight from here. */
  get facts(): QueueFacts {
    return { ...this.#facts, waiting: this.#pending.size };
  }

  get isSilent(): boolean {
    return this.#silence !== undefined;
  }

  write(name: string, input: unknown): Promise<never> {
    if (this.#silence !== undefined) return Promise.reject(new StorageUnavailable(this.#silence));
    return new Promise((resolve, reject) => {
      const id = this.#pending.add({ resolve, reject, dueAt: performance.now() + answerWithinMs });
      if (this.#calls.length === 0) setImmediate(() => this.#post());
      this.#calls.push({ id, name, input });
    });
  }

  /** Rejects all writes, now and later: the other end has ended. */
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

  #settle(answer: SentOutcome): void {
    const pending = this.#pending.remove(answer.id);
    if ('outcome' in answer) {
      this.#outage.end();
      pending?.resolve(answer.outcome as never);
      return;
    }
    const error = received(answer.error);
    if (error instanceof StorageUnavailable) this.#outage.begin(failureText(error.cause));
    pending?.reject(error);
  }

  #giveUpLate(): void {
    this.#giveUp(`no commit was finished within ${answerWithinMs} ms`, performance.now());
  }

  /** Rejects the writes that are due, by default all. They may still be committed. */
  #giveUp(reason: string, now?: number): void {
    if (this.#pending.expire(new WriteUncertain(reason), now) === 0) return;
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
}

export class WriteServer {
  readonly #writer: CountingWriter;
  readonly #ports = new Set<Port>();
  /** Why nothing is being stored, as the last write showed; undefined while all is. */
  #failure: SentError | undefined;

  constructor(writer: CountingWriter) {
    this.#writer = writer;
  }

  /** Outcomes of units committed together go into one message. Dispose of it when the other end has ended. */
  serve(port: Port): Disposable {
    let outcomes: SentOutcome[] = [];
    const answer = (outcome: SentOutcome) => {
      if (outcomes.length === 0) {
        queueMicrotask(() => {
          port.post(this.#answers(outcomes));
          outcomes = [];
        });
      }
      outcomes.push(outcome);
      this.#note(outcome, port);
    };
    port.listen((message) => {
      for (const { id, name, input } of message as SentCall[]) {
        this.#writer.write(name, input as never).then(
          (outcome) => answer({ id, outcome }),
          (error) => answer({ id, error: sent(error) }),
        );
      }
    });
    this.#ports.add(port);
    if (this.#failure !== undefined) port.post(this.#answers([{ id: nobodys, error: this.#failure }]));
    return { [Symbol.dispose]: () => this.#ports.delete(port) };
  }

  /** Reports to all other ports when writes begin to fail, and when they work again. */
  #note(outcome: SentOutcome, asker: Port): void {
    const failure = 'error' in outcome ? outcome.error : undefined;
    if (failure?.kind === 'refusal' || failure?.kind === 'error') return;
    const isNew = (failure === undefined) !== (this.#failure === undefined);
    this.#failure = failure;
    if (!isNew) return;
    const told: SentOutcome =
      failure === undefined ? { id: nobodys, outcome: null } : { id: nobodys, error: failure };
    for (const port of this.#ports) if (port !== asker) port.post(this.#answers([told]));
  }

  #answers(outcomes: readonly SentOutcome[]): Answers {
    return { outcomes, facts: this.#writer.facts };
  }
}

function sent(error: unknown): SentError {
  if (error instanceof StorageUnavailable) {
    const kind = error instanceof WriteUncertain ? 'uncertain' : 'unavailable';
    return { kind, reason: failureText(error.cause), message: error.message };
  }
  if (error instanceof Refusal) {
    const { code, details, message, scope } = error;
    return { kind: 'refusal', code, details, message, scope };
  }
  return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

function received({ kind, code, details, message, scope, reason = '' }: SentError): unknown {
  if (kind === 'uncertain') return new WriteUncertain(reason);
  if (kind === 'unavailable') return new StorageUnavailable(reason, undefined, message);
  if (kind === 'refusal' && code !== undefined) {
    return new Refusal(code, { details: [...(details ?? [])], message, scope });
  }
  return new Error(`A unit of work failed: ${message}`);
}
