import type { QuestionMessage } from './messages.ts';

/** Maximum number of pending questions to a worker. Additional questions get no answer. */
const maxWaiting = 32;

export class Questions implements Disposable {
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
