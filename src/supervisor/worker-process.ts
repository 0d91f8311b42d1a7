import type { MessagePortLike } from '../storage/storage.ts';
import {
  type FromWorker,
  heartbeat,
  type Listening,
  type QuestionMessage,
  type Start,
  StoreMessagePort,
  type ToWorker,
} from './messages.ts';

/** How a process ended: its exit code, or the signal that terminated it. */
interface WorkerExit {
  readonly code: number | null;
  readonly signal: string | number | null;
}

/** The worker exited before it was serving, without reporting a reason. */
export class WorkerExitedError extends Error {
  constructor({ code, signal }: WorkerExit) {
    super(`A worker process exited during startup (${signal ?? `exit code ${code}`}).`);
  }
}

export class WorkerProcess {
  /** Undefined if the process could not be spawned. */
  readonly pid: number | undefined;
  /** Resolves once the worker is listening. Rejects with the reason that the worker reports, or with `WorkerExitedError`. */
  readonly listening: Promise<Listening>;
  readonly ended: Promise<WorkerExit>;
  /** Connects the process to the store. Messages to a process that has exited are dropped. */
  readonly store: MessagePortLike;
  readonly #questions = new PendingQuestions((question) => this.#send({ kind: 'question', question }));
  #isServing = false;
  readonly #process: Bun.Subprocess | undefined;

  /** Spawns the process, which loads the program and waits for `start`. */
  constructor(command: readonly string[]) {
    const { promise, resolve, reject } = Promise.withResolvers<Listening>();
    this.listening = promise;
    // Prevents an unhandled rejection if the process is no longer needed.
    promise.catch(() => undefined);
    const store = new StoreMessagePort((message) => this.#send({ kind: 'store', message }));
    this.store = store;
    const receive = (message: FromWorker) => {
      if (message.kind === 'store') store.receive(message.message);
      else if (message.kind === 'answer') this.#questions.answered(message.answer);
      else if (message.kind === 'failed') {
        const { message: reason, code } = message.failure;
        reject(Object.assign(new Error(reason), { code }));
      } else {
        this.#isServing = true;
        resolve(message.listening);
      }
    };
    try {
      this.#process = Bun.spawn([...command], {
        stdio: ['ignore', 'ignore', 'inherit'],
        serialization: 'advanced',
        ipc: receive,
      });
    } catch (error) {
      // The system is out of memory, processes or file descriptors.
      reject(error);
    }
    this.pid = this.#process?.pid;
    this.ended = this.#waitForExit(reject);
  }

  get hasServed(): boolean {
    return this.#isServing;
  }

  start(start: Start): void {
    this.#send({ kind: 'start', start });
  }

  ask(question: unknown, withinMs: number): Promise<unknown> {
    return this.#questions.ask(question, withinMs);
  }

  async isAlive(withinMs: number): Promise<boolean> {
    return (await this.ask(heartbeat, withinMs)) === true;
  }

  stop(): void {
    this.#send({ kind: 'stop' });
  }

  kill(): void {
    this.#process?.kill('SIGKILL');
  }

  async #waitForExit(reject: (error: Error) => void): Promise<WorkerExit> {
    await this.#process?.exited;
    this.#questions[Symbol.dispose]();
    const exit = { code: this.#process?.exitCode ?? null, signal: this.#process?.signalCode ?? null };
    reject(new WorkerExitedError(exit));
    return exit;
  }

  #send(message: ToWorker): void {
    try {
      this.#process?.send(message);
    } catch {
      // The process has exited; `ended` reports it.
    }
  }
}

/** Maximum number of pending questions to a worker. Additional questions get no answer. */
const maxWaiting = 32;

class PendingQuestions implements Disposable {
  readonly #send: (question: QuestionMessage) => void;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #last = 0;

  constructor(send: (question: QuestionMessage) => void) {
    this.#send = send;
  }

  /** Returns the answer; undefined after the timeout, or if too many questions are pending. */
  async ask(content: unknown, withinMs: number): Promise<unknown> {
    if (this.#waiting.size >= maxWaiting) return undefined;
    const number = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const timer = setTimeout(resolve, withinMs);
    this.#waiting.set(number, resolve);
    this.#send({ number, content });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(number);
    }
  }

  answered({ number, content }: QuestionMessage): void {
    this.#waiting.get(number)?.(content);
  }

  [Symbol.dispose](): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
  }
}
