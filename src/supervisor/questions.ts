import type { Asked } from './messages.ts';

/** Questions to a worker that wait for their answer, at most; whoever asks on is told nothing. */
const mostWaiting = 32;

/** The questions that a worker was asked and has not answered yet. */
export class Questions implements Disposable {
  readonly #send: (question: Asked) => void;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #last = 0;

  constructor(send: (question: Asked) => void) {
    this.#send = send;
  }

  /** The answer; undefined when there is none within the time, or when too many wait already. */
  async ask(content: unknown, withinMs: number): Promise<unknown> {
    if (this.#waiting.size >= mostWaiting) return undefined;
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

  answered({ number, content }: Asked): void {
    this.#waiting.get(number)?.(content);
  }

  /** Nobody will answer any more. */
  [Symbol.dispose](): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
  }
}
