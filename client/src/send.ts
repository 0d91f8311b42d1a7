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

/** Throws TypeError when the options are not valid. */
export function sender(options: AnimalStoreOptions, clock: Clock): Send {
  const { pace = false, onRequest, onResponse, onRetry } = options;
  const base = baseOf(options.url);
  const authorization = `Bearer ${keyOf(options.key)}`;
  const timeoutMs = lengthOf('timeoutMs', options.timeoutMs ?? 30_000);
  const maxWaitMs = lengthOf('maxWaitSeconds', options.maxWaitSeconds ?? 60) * 1_000;
  const fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const gate = new Gate(clock, pace, () => sendOnce(prepared({ method: 'GET', path: ['rate-limit'] }), 1));

  function prepared(request: Request) {
    const { method, body, options = {} } = request;
    const headers = headersOf(method, authorization, options);
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

  async function sendOnce(request: ReturnType<typeof prepared>, attempt: number): Promise<Reply> {
    const sent = { method: request.method, url: request.url, attempt };
    onRequest?.(sent);
    const sentAt = clock.now();
    const reply = await attemptOf(fetch, { ...request, attempt });
    gate.hear(limitsOf(reply.headers), sentAt);
    const { status, headers } = reply;
    const requestId = headers.get('x-request-id') ?? undefined;
    onResponse?.({ ...sent, status, requestId, headers, durationMs: clock.now() - sentAt });
    return reply;
  }

  return async <Data>(request: Request): Promise<Answer<Data>> => {
    const { signal, ...rest } = prepared(request);
    let waitLeftMs = maxWaitMs;
    let isLost = false;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const startedAt = clock.now();
      if (!request.isFree) await gate.enter({ maxWaitMs: waitLeftMs, signal, attempts: attempt - 1 });
      waitLeftMs -= clock.now() - startedAt;
      let waitMs = 0;
      try {
        const reply = await sendOnce({ ...rest, signal }, attempt);
        // The try before was lost, but had removed it.
        const isDone = isLost && request.method === 'DELETE' && reply.status === 404;
        const data = isDone ? undefined : dataOf(reply, `${rest.method} ${rest.url}`, attempt);
        return answerOf(data as Data, reply.status, reply.headers);
      } catch (error) {
        const repetition =
          error instanceof AnimalStoreError ? repetitionOf(error, request, attempt, clock) : undefined;
        if (repetition === undefined) throw error;
        const { waitMs: ms, isShared } = repetition;
        if (isShared && !request.isFree) gate.close(error as AnimalStoreError, ms);
        else waitMs = ms;
        if (ms > waitLeftMs) throw error;
        isLost ||= (error as AnimalStoreError).status !== 429;
        onRetry?.({
          method: rest.method,
          url: rest.url,
          attempt,
          error: error as AnimalStoreError,
          waitMs: ms,
        });
      } finally {
        if (!request.isFree) gate.leave();
      }
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      waitLeftMs -= waitMs;
    }
  };
}

function headersOf(method: string, authorization: string, options: NonNullable<Request['options']>): Headers {
  const { ifMatch, ifNoneMatch, idempotencyKey } = options;
  // Throws TypeError for characters that no header can have, before anything is sent.
  const headers = new Headers({ accept: 'application/json', authorization });
  if (ifMatch !== undefined) headers.set('if-match', ifMatch);
  if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
  if (method === 'POST') headers.set('idempotency-key', idempotencyKey ?? newKey());
  return headers;
}

/** 128 random bits. Pages without https have no crypto.randomUUID. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The address of the operations, which ends in `/v1`, whether the one given does or not. */
function baseOf(given: string | URL | undefined): string {
  let url: URL;
  try {
    url = new URL(String(given));
  } catch {
    throw new TypeError('url has to be the address of the service, such as https://animals.example.com.');
  }
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('url has to begin with http:// or https://, and to have no user name or password.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}

/** The key is checked here, because fetch would quote it in its error. */
function keyOf(key: string | undefined): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError(
    `key has to be an API key (ask_…); ${key ? 'this has other characters' : 'there is none'}.`,
  );
}

function lengthOf(name: string, value: number): number {
  if (value >= 0) return value;
  throw new TypeError(`${name} has to be a number of at least 0, not ${value}.`);
}
