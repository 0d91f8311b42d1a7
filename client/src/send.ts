/** Sends requests: one try after the other, until there is an answer. */
import type { AnimalStoreOptions } from './animal-store.js';
import { type Answer, answerOf } from './answer.js';
import { attemptOf, type Reply } from './attempt.js';
import { type Clock, sleep } from './clock.js';
import { AnimalStoreError } from './errors.js';
import { Gate } from './gate.js';
import { stringifyJson } from './json.js';
import { limitsOf } from './limits.js';
import { dataOf } from './outcome.js';
import { type Request, type Send, targetOf } from './request.js';
import { repetitionOf } from './retry.js';
import { lengthOf, type Settings, settingsOf } from './settings.js';

/** Throws TypeError when the options are not valid. */
export function sender(options: AnimalStoreOptions, clock: Clock): Send {
  const settings = settingsOf(options);
  const { hooks, maxWaitMs, pace } = settings;
  const gate = new Gate(clock, pace, ask);

  /** Asks what is left of the limits. If there is no answer, the next request finds out why. */
  async function ask(): Promise<void> {
    const request = { method: 'GET', path: ['rate-limit'] } as const;
    try {
      const prepared = preparedOf(request, settings);
      dataOf(await sendOnce(prepared, 1), prepared.url, 1);
    } catch (error) {
      if (!(error instanceof AnimalStoreError)) return;
      const { isShared = false, waitMs = 0 } = repetitionOf(error, request, 1, clock) ?? {};
      if (isShared) gate.close(error, waitMs);
    }
  }

  async function sendOnce(request: Prepared, attempt: number): Promise<Reply> {
    const { method, url } = request;
    hooks.onRequest?.({ method, url, attempt });
    const sentAt = clock.now();
    const reply = await attemptOf(settings.fetch, request, attempt);
    gate.hear(limitsOf(reply.headers), sentAt);
    const { status, headers } = reply;
    const requestId = headers.get('x-request-id') ?? undefined;
    hooks.onResponse?.({
      method,
      url,
      attempt,
      status,
      requestId,
      headers,
      durationMs: clock.now() - sentAt,
    });
    return reply;
  }

  async function send<Data>(request: Request): Promise<Answer<Data>> {
    const prepared = preparedOf(request, settings);
    const { method, url, signal } = prepared;
    const { isFree = false } = request;
    let waitLeftMs = maxWaitMs;
    let isLost = false;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const startedAt = clock.now();
      if (!isFree) await gate.enter({ maxWaitMs: waitLeftMs, signal, attempts: attempt - 1 });
      waitLeftMs -= clock.now() - startedAt;
      let ownWaitMs = 0;
      try {
        const reply = await sendOnce(prepared, attempt);
        // The try that was lost had removed it.
        const isDone = isLost && method === 'DELETE' && reply.status === 404;
        const data = isDone ? undefined : dataOf(reply, `${method} ${url}`, attempt);
        return answerOf(data as Data, reply.status, reply.headers);
      } catch (error) {
        if (!(error instanceof AnimalStoreError)) throw error;
        const repetition = repetitionOf(error, request, attempt, clock);
        if (repetition === undefined) throw error;
        const { waitMs, isShared } = repetition;
        if (isShared && !isFree) gate.close(error, waitMs);
        else ownWaitMs = waitMs;
        if (waitMs > waitLeftMs) throw error;
        isLost ||= error.status !== 429;
        hooks.onRetry?.({ method, url, attempt, error, waitMs });
      } finally {
        if (!isFree) gate.leave();
      }
      if (ownWaitMs > 0) await sleep(clock, ownWaitMs, signal);
      waitLeftMs -= ownWaitMs;
    }
  }

  return async (request) => {
    const called = new Error();
    try {
      return await send(request);
    } catch (error) {
      throw fromCaller(error, called);
    }
  };
}

type Prepared = ReturnType<typeof preparedOf>;

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
    timeoutMs: lengthOf('timeoutMs', options.timeoutMs ?? timeoutMs),
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
