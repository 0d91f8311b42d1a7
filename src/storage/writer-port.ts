/** Units of work over a port: from whoever answers requests to whoever writes. */
import { Refusal } from '../domain/refusal.ts';
import type { QueueFacts } from './group-queue.ts';
import { type Notice, Outage } from './outage.ts';
import type { Port } from './port.ts';
import { StorageUnavailable, WriteUncertain } from './storage.ts';
import type { Units, Writer } from './transaction.ts';

interface SentCall {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

/** What a call threw, as a plain value. */
interface SentError {
  readonly kind: 'refusal' | 'unavailable' | 'uncertain' | 'error';
  readonly code?: Refusal['code'];
  readonly details?: Refusal['details'];
  readonly message?: string | undefined;
  readonly reason?: string;
}

type SentOutcome =
  | { readonly id: number; readonly outcome: unknown }
  | { readonly id: number; readonly error: SentError };

/** What whoever writes posts. */
interface Answers {
  readonly outcomes: readonly SentOutcome[];
  /** What it has written, for whoever it may be. */
  readonly facts: QueueFacts;
}

interface Pending {
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
  /** When it was asked for (`performance.now()`). */
  readonly since: number;
}

/** The id of what nobody asked for: it only tells whether writes work. */
const nobodys = 0;
/** Most writes that may be under way from here; more are refused at once. */
const mostPending = 10_000;
/** After so long without an answer nobody waits on: the disk has stopped in the middle of a commit. */
const answerWithinMs = 10_000;
const lookEveryMs = 500;

/** Asks for units of work at the other end of a port, those of a turn of the event loop in one message. */
export class PortWriter implements Writer<Units> {
  readonly #port: Port;
  readonly #outage: Outage;
  readonly #pending = new Map<number, Pending>();
  #calls: SentCall[] = [];
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  /** Why writes are refused at once: the writer has not answered for too long, or is gone. */
  #silence: string | undefined;
  #facts: QueueFacts = { groups: 0, units: 0, seconds: 0, waiting: 0 };

  /** `onOutcome` is called whenever something was perhaps committed. */
  constructor(port: Port, notice: Notice, onOutcome: () => void) {
    this.#port = port;
    this.#outage = new Outage('animal storage', notice);
    port.listen((message) => {
      this.#silence = undefined;
      onOutcome();
      const { outcomes, facts } = message as Answers;
      this.#facts = facts;
      for (const outcome of outcomes) this.#settle(outcome);
      if (this.#pending.size === 0) this.#rest();
    });
  }

  /** Why nothing is being stored, as the last write showed; undefined while all is. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** What the other end had written when it last answered, and the writes that are under way from here. */
  get facts(): QueueFacts {
    return { ...this.#facts, waiting: this.#pending.size };
  }

  /** Whether nothing is to be expected of the other end, for now or for good. */
  get isSilent(): boolean {
    return this.#silence !== undefined;
  }

  write(name: string, input: unknown): Promise<never> {
    if (this.#silence !== undefined) return Promise.reject(new StorageUnavailable(this.#silence));
    if (this.#pending.size >= mostPending) {
      return Promise.reject(new StorageUnavailable(`too many queued writes (${mostPending})`));
    }
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#pending.set(id, { resolve, reject, since: performance.now() });
      if (this.#calls.length === 0) setImmediate(() => this.#post());
      this.#calls.push({ id, name, input });
      this.#timer ??= setInterval(() => this.#giveUpLate(), lookEveryMs).unref();
    });
  }

  /** The other end is gone: nobody waits for it any more. */
  end(reason: string): void {
    this.#giveUp(reason, Number.POSITIVE_INFINITY);
    this.#silence = reason;
  }

  /** Resolves when everything asked for until now is answered. */
  idle(): Promise<void> {
    return this.#pending.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  #post(): void {
    const calls = this.#calls;
    this.#calls = [];
    this.#port.post(calls);
  }

  #settle(answer: SentOutcome): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ('outcome' in answer) {
      this.#outage.end();
      pending?.resolve(answer.outcome as never);
      return;
    }
    const error = received(answer.error);
    if (error instanceof StorageUnavailable) this.#outage.begin(reasonOf(error));
    pending?.reject(error);
  }

  #giveUpLate(): void {
    this.#giveUp(`no commit was finished within ${answerWithinMs} ms`, performance.now() - answerWithinMs);
  }

  /** Answers who has waited since then or longer. What they asked for may be done yet, so nothing is added to it. */
  #giveUp(reason: string, since: number): void {
    for (const [id, { since: from, reject }] of this.#pending) {
      // The oldest is first.
      if (from > since) break;
      this.#pending.delete(id);
      this.#silence = reason;
      this.#outage.begin(reason);
      reject(new WriteUncertain(reason));
    }
    if (this.#pending.size === 0) this.#rest();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** A writer that tells what it has written. */
interface CountingWriter extends Writer<Units> {
  readonly facts: QueueFacts;
}

/** Runs what is asked for at the other ends of ports. */
export class WriteServer {
  readonly #writer: CountingWriter;
  readonly #ports = new Set<Port>();
  /** Why nothing is being stored, as the last write showed; undefined while all is. */
  #failure: SentError | undefined;

  constructor(writer: CountingWriter) {
    this.#writer = writer;
  }

  /** Units that are committed together are answered in one message. Disposed of when nobody listens any more. */
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

  /** When writes begin to fail, or work again, those who did not ask are told, too. */
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
    return { kind, reason: reasonOf(error), message: error.message };
  }
  if (error instanceof Refusal) {
    const { code, details, message } = error;
    return { kind: 'refusal', code, details, message };
  }
  return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

function received({ kind, code, details, message, reason = '' }: SentError): unknown {
  if (kind === 'uncertain') return new WriteUncertain(reason);
  if (kind === 'unavailable') return new StorageUnavailable(reason, undefined, message);
  if (kind === 'refusal' && code !== undefined) {
    return new Refusal(code, { details: [...(details ?? [])], ...(message !== undefined && { message }) });
  }
  return new Error(`A unit of work failed: ${message}`);
}

function reasonOf({ cause }: StorageUnavailable): string {
  return cause instanceof Error ? cause.message : String(cause);
}
