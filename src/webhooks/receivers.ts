/** Sends requests to receivers and checks the URLs of webhooks, in a separate thread. */
import type { Network } from '../domain/address.ts';
import type { Clock } from '../domain/clock.ts';
import { checkEndpoint, type PrivateAddress, type Resolve } from './endpoint.ts';
import { createBoundedResolver } from './resolver.ts';
import { type Delivery, defaultTimeoutMs, networkAccessFor, type Outcome, Sender } from './send.ts';
import { ThreadTimeBudget } from './thread-time-budget.ts';

/** The validation error for a webhook's URL ("must be …"), and the internal address, which the error omits. */
interface EndpointCheck {
  readonly mistake?: string | undefined;
  readonly privateAddress?: PrivateAddress | undefined;
}

export interface Receivers extends Disposable {
  /** Never rejects. */
  send(delivery: Delivery): Promise<Outcome>;
  /** Checks the URL of an account's webhook. Never rejects. */
  check(url: string, accountId: number): Promise<EndpointCheck>;
}

interface LocalOptions {
  readonly resolve: Resolve;
  readonly allowed: readonly Network[];
  readonly clock: Pick<Clock, 'now'>;
}

/** Talks to receivers in the current thread. */
export function createReceivers({ resolve, allowed, clock }: LocalOptions): Receivers {
  const time = new ThreadTimeBudget();
  const routes = { resolve: createBoundedResolver(resolve, { clock, time }), allowed };
  const sender = new Sender({ ...routes, time });
  return {
    send: (delivery) => sender.send(delivery),
    check: async (url, accountId) => {
      let privateAddress: PrivateAddress | undefined;
      const mistake = await checkEndpoint(url, networkAccessFor(routes, accountId), (noticed) => {
        privateAddress = noticed;
      });
      return { mistake, privateAddress };
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  };
}

/** A message to the thread. `abort` has the id of the task to abort. */
export type ThreadTask = SendTask | CheckTask | { readonly kind: 'abort'; readonly id: number };

export interface SendTask {
  readonly kind: 'send';
  readonly id: number;
  readonly delivery: Omit<Delivery, 'signal'>;
}

interface CheckTask {
  readonly kind: 'check';
  readonly id: number;
  readonly url: string;
  readonly accountId: number;
}

/** The result of a task, or an internal error. */
export type ThreadResult =
  | { readonly id: number; readonly result: Outcome | EndpointCheck }
  | { readonly id: number; readonly failure: string };

/** The thread may be busy for this long. The lease of a delivery exceeds this time plus the duration of an attempt. */
const graceMs = 3_000;
/** A lookup waits for up to 5 s and takes up to 5 s. */
const checkTimeoutMs = 12_000;

const aborted = 'The request was aborted.';
const restarted = 'The service had to restart the thread that sends requests.';
const late = 'The service was too busy to send the request or to read the response.';

/** The thread has ended, or did not respond in time. */
class ThreadLostError extends Error {
  readonly error: 'aborted' | 'timeout';

  constructor(error: 'aborted' | 'timeout', message: string) {
    super(message);
    this.error = error;
  }
}

/**
 * Talks to receivers in a thread, which starts at the first use. Clients choose the receivers and name servers.
 * Processing their certificates and responses can block the thread for up to a second.
 */
export class ReceiverThread implements Receivers {
  readonly #allowed: readonly string[];
  readonly #pending = new Map<number, PromiseWithResolvers<ThreadResult>>();
  #thread: Worker | undefined;
  #tasks = 0;

  constructor(allowed: readonly Network[]) {
    this.#allowed = allowed.map(([address, bits]) => `${address}/${bits}`);
  }

  async send({ signal, ...delivery }: Delivery): Promise<Outcome> {
    const start = performance.now();
    const limitMs = (delivery.timeoutMs ?? defaultTimeoutMs) + graceMs;
    const id = ++this.#tasks;
    const abort = () => this.#abort(id);
    // The thread would send the request before it reads the message that aborts it.
    if (signal?.aborted) return { error: 'aborted', message: aborted, milliseconds: 0 };
    try {
      signal?.addEventListener('abort', abort);
      return await this.#perform<Outcome>({ kind: 'send', id, delivery }, limitMs);
    } catch (cause) {
      if (!(cause instanceof ThreadLostError)) throw cause;
      const { error, message } = cause;
      return { error, message, milliseconds: Math.round(performance.now() - start) };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async check(url: string, accountId: number): Promise<EndpointCheck> {
    try {
      return await this.#perform<EndpointCheck>(
        { kind: 'check', id: ++this.#tasks, url, accountId },
        checkTimeoutMs,
      );
    } catch (cause) {
      if (!(cause instanceof ThreadLostError)) throw cause;
      return { mistake: 'must have a host that can be resolved (the service is too busy; try again)' };
    }
  }

  /** Ends the thread. Requests in flight are aborted. */
  [Symbol.dispose](): void {
    this.#thread?.terminate();
    this.#end(new ThreadLostError('aborted', aborted));
  }

  /** Rejects with `ThreadLostError` if there is no result in time (ms). */
  async #perform<R extends Outcome | EndpointCheck>(task: ThreadTask, limitMs: number): Promise<R> {
    const result = Promise.withResolvers<ThreadResult>();
    const timer = setTimeout(() => {
      this.#abort(task.id);
      result.reject(new ThreadLostError('timeout', late));
    }, limitMs);
    this.#pending.set(task.id, result);
    this.#thread ??= this.#start();
    this.#thread.postMessage(task);
    try {
      const performed = await result.promise;
      if ('failure' in performed) throw new Error(performed.failure);
      return performed.result as R;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(task.id);
    }
  }

  #abort(id: number): void {
    this.#thread?.postMessage({ kind: 'abort', id } satisfies ThreadTask);
  }

  #start(): Worker {
    const thread = new Worker(new URL('./receiver-thread.ts', import.meta.url), {
      smol: true,
      name: 'receivers',
    });
    thread.unref();
    thread.addEventListener('message', ({ data }: MessageEvent<ThreadResult>) =>
      this.#pending.get(data.id)?.resolve(data),
    );
    // The next task starts another thread.
    const onEnd = () => this.#thread === thread && this.#end(new ThreadLostError('timeout', restarted));
    thread.addEventListener('error', onEnd);
    thread.addEventListener('close', onEnd);
    thread.postMessage(this.#allowed);
    return thread;
  }

  #end(error: ThreadLostError): void {
    this.#thread = undefined;
    for (const { reject } of this.#pending.values()) reject(error);
  }
}
