import type { MessagePortLike } from '../storage/storage.ts';
import {
  type Failure,
  type FromWorker,
  heartbeat,
  type Listening,
  type QuestionMessage,
  type Start,
  StoreMessagePort,
  type ToWorker,
} from './messages.ts';

export class SupervisorLink implements Disposable {
  readonly started: Promise<Start>;
  readonly stopped: Promise<void>;
  readonly store: MessagePortLike;

  /**
   * Throws if no supervisor started this process. Calls `onSupervisorExit` when the supervisor exits. This process must
   * then exit, because a new supervisor needs the port.
   */
  constructor(onSupervisorExit: () => void) {
    if (process.send === undefined) throw new Error('Workers can be started only by animal-store serve.');
    const started = Promise.withResolvers<Start>();
    const stopped = Promise.withResolvers<void>();
    this.started = started.promise;
    this.stopped = stopped.promise;
    const store = new StoreMessagePort((message) => this.#send({ kind: 'store', message }));
    this.store = store;
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'store') store.receive(message.message);
      else if (message.kind === 'start') started.resolve(message.start);
      else if (message.kind === 'question') void this.#answer(message.question);
      else stopped.resolve();
    });
    this.#onSupervisorExit = onSupervisorExit;
    process.on('disconnect', this.#onSupervisorExit);
  }

  readonly #onSupervisorExit: () => void;
  #answerTo: (question: unknown) => Promise<unknown> = async () => undefined;

  answer(answerTo: (question: unknown) => Promise<unknown>): void {
    this.#answerTo = answerTo;
  }

  reportServing(listening: Listening): void {
    this.#send({ kind: 'serving', listening });
  }

  reportFailure(failure: Failure): void {
    this.#send({ kind: 'failed', failure });
  }

  /** Allows the process to exit. */
  [Symbol.dispose](): void {
    process.off('disconnect', this.#onSupervisorExit);
    process.disconnect?.();
  }

  async #answer({ number, content }: QuestionMessage): Promise<void> {
    const answer = content === heartbeat ? true : await this.#answerTo(content).catch(() => undefined);
    this.#send({ kind: 'answer', answer: { number, content: answer } });
  }

  #send(message: FromWorker): void {
    process.send?.(message);
  }
}
