/** Sends requests: one try after the other, until there is an answer. */
import type { AnimalStoreOptions } from './animal-store.js';
import { type Answer, answerOf } from './answer.js';
import { attemptOf, type Reply } from './attempt.js';
import { type Clock, sleep } from './clock.js';
import type { RateLimit } from './contract.js';
import { AnimalStoreError } from './errors.js';
import { Gate } from './gate.js';
import { stringifyJson } from './json.js';
import { limitsOf } from './limits.js';
import { dataOf } from './outcome.js';
import { type Request, type Send, targetOf } from './request.js';
import { repetitionOf } from './retry.js';
import { type Settings, settingsOf, timeoutOf } from './settings.js';

/** Throws TypeError when the options are not valid. */
export function sender(options: AnimalStoreOptions, clock: Clock): Send {
  const requests = new Sender(settingsOf(options), clock);
  return async (request) => {
    const called = new Error();
    try {
      return await requests.send(request);
    } catch (error) {
      throw fromCaller(error, called);
    }
  };
}

/** How long other requests wait for the answer to what is left of the limits, at most. */
const askingMs = 5_000;

class Sender {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #gate: Gate;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#gate = new Gate(clock, settings.pace, () => this.#ask());
  }

  /** Sends a request until it is answered, or may not be repeated, or would have to wait for too long. */
  async send<Data>(request: Request): Promise<Answer<Data>> {
    const prepared = preparedOf(request, this.#settings);
    const { method, url, signal } = prepared;
    const { isFree = false } = request;
    let waitLeftMs = this.#settings.maxWaitMs;
    let isLost = false;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      if (!isFree)
        waitLeftMs -= await this.#gate.enter({ maxWaitMs: waitLeftMs, signal, attempts: attempt - 1 });
      let ownWaitMs = 0;
      try {
        const reply = await this.#sendOnce(prepared, attempt);
        // The try that was lost had removed it.
        const isDone = isLost && method === 'DELETE' && reply.status === 404;
        const data = isDone ? undefined : dataOf(reply, request, `${method} ${url}`, attempt);
        if (isFree && takesRequests(data as RateLimit)) this.#gate.open();
        return answerOf(data as Data, reply.status, reply.headers);
      } catch (error) {
        const repetition = this.#repetition(error, request, attempt, waitLeftMs);
        if (repetition === undefined) throw error;
        if (isFree || !repetition.isShared) ownWaitMs = repetition.waitMs;
        isLost ||= repetition.error.status !== 429;
        this.#settings.hooks.onRetry?.({
          method,
          url,
          attempt,
          error: repetition.error,
          waitMs: repetition.waitMs,
        });
      } finally {
        if (!isFree) this.#gate.leave();
      }
      if (ownWaitMs > 0) await sleep(this.#clock, ownWaitMs, signal);
      waitLeftMs -= ownWaitMs;
    }
  }

  async #sendOnce(request: Prepared, attempt: number): Promise<Reply> {
    const { fetch, hooks } = this.#settings;
    const sent = { method: request.method, url: request.url, attempt };
    hooks.onRequest?.(sent);
    const sentAt = this.#clock.now();
    const reply = await attemptOf(fetch, request, attempt);
    const { status, headers } = reply;
    this.#gate.hear(limitsOf(headers), sentAt);
    const requestId = headers.get('x-request-id') ?? undefined;
    hooks.onResponse?.({ ...sent, status, requestId, headers, durationMs: this.#clock.now() - sentAt });
    return reply;
  }

  /** What follows from a failure: all calls wait, this one does, or it rejects (undefined). */
  #repetition(error: unknown, request: Request, attempt: number, waitLeftMs: number) {
    if (!(error instanceof AnimalStoreError)) return undefined;
    const repetition = repetitionOf(error, request, attempt, this.#clock);
    if (repetition?.isShared && !request.isFree) this.#gate.close(error, repetition.waitMs);
    return repetition && repetition.waitMs <= waitLeftMs ? { ...repetition, error } : undefined;
  }

  /** Asks what is left of the limits. If there is no answer, the next request finds out why. */
  async #ask(): Promise<void> {
    const request = { method: 'GET', collection: 'rate-limit' } as const;
    try {
      const prepared = preparedOf(request, this.#settings);
      const timeoutMs = Math.min(prepared.timeoutMs, askingMs);
      dataOf(await this.#sendOnce({ ...prepared, timeoutMs }, 1), request, prepared.url, 1);
    } catch (error) {
      this.#repetition(error, request, 1, 0);
    }
  }
}

type Prepared = ReturnType<typeof preparedOf>;

function takesRequests({ minute, day, bannedUntil }: RateLimit): boolean {
  return bannedUntil === null && minute.remaining > 0 && day.remaining > 0;
}

/** A request as all of its tries send it. Throws TypeError for what cannot be sent. */
function preparedOf(request: Request, { base, authorization, timeoutMs }: Settings) {
  const { method, body, options = {} } = request;
  const headers = new Headers({ accept: 'application/json', authorization });
  if (options.ifMatch !== undefined) headers.set('if-match', options.ifMatch);
  if (options.ifNoneMatch !== undefined) headers.set('if-none-match', options.ifNoneMatch);
  if (method === 'POST') headers.set('idempotency-key', options.idempotencyKey ?? newIdempotencyKey());
  if (body !== undefined) {
    headers.set('content-type', method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  }
  return {
    method,
    url: base + targetOf(request),
    headers,
    body: body && stringifyJson(body),
    timeoutMs: timeoutOf(options.timeoutMs ?? timeoutMs),
    signal: options.signal,
  };
}

/** 128 random bits. Pages without https have no crypto.randomUUID. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Gives an error the stack of the call: its own has only turns of the event loop. */
function fromCaller(error: unknown, { stack }: Error): unknown {
  if (error instanceof AnimalStoreError && stack !== undefined) {
    // V8's begins with the error's name and message, others do not.
    error.stack = stack.replace(/^Error(?=\n)/, `${error.name}: ${error.message}`);
  }
  return error;
}
