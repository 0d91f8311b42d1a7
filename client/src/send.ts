/** Sends requests with retries. */
import { type Answer, createAnswer } from './answer.js';
import { type Reply, sendOnce } from './attempt.js';
import { type Clock, sleep } from './clock.js';
import type { RateLimit } from './contract.js';
import { AnimalStoreError } from './errors.js';
import { Gate, graceMs } from './gate.js';
import { readLimits } from './limits.js';
import { readData } from './outcome.js';
import { type Prepared, prepareRequest } from './prepare.js';
import type { ApiRequest, Send } from './request.js';
import { isOutcomeUnknown, isUncertain, planRetry } from './retry.js';
import { type AnimalStoreOptions, resolveSettings, type Settings } from './settings.js';

/** Creates the function that sends requests. Throws an ArgumentError if the options are invalid. */
export function sender(options: AnimalStoreOptions, clock: Clock): Send {
  const requests = new Sender(resolveSettings(options), clock);
  return async (request) => {
    const called = new Error();
    try {
      return await requests.send(request);
    } catch (error) {
      throw fromCaller(error, called);
    }
  };
}

/** Maximum time that other requests wait for the response to `GET /rate-limit`. */
const askingMs = 5_000;
/** Maximum time for retries if the service has never responded, because the URL is probably wrong. */
const wrongAddressMs = 10_000;

const nothing = () => {};

class Sender {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #gate: Gate;
  #wasReached = false;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#gate = new Gate(clock, settings.pace, () => this.#ask());
  }

  /** Sends a request, and retries it until it has a result, a retry would be unsafe, or the wait would be too long. */
  async send<Data>(request: ApiRequest): Promise<Answer<Data>> {
    const prepared = prepareRequest(request, this.#settings);
    const earlier = { wasUncertain: false };
    try {
      return await this.#repeat<Data>(request, prepared, earlier);
    } catch (error) {
      throw withOutcome(error, prepared, earlier.wasUncertain);
    }
  }

  /** Sets `earlier.wasUncertain` if the service may have processed an attempt that failed. */
  async #repeat<Data>(
    request: ApiRequest,
    prepared: Prepared,
    earlier: { wasUncertain: boolean },
  ): Promise<Answer<Data>> {
    const { title, signal, isFree, isDelayed, maxWaitMs } = prepared;
    let waitedMs = 0;
    for (let attempts = 1; ; attempts++) {
      signal?.throwIfAborted();
      if (!isFree)
        waitedMs += await this.#gate.enter({
          maxWaitMs: maxWaitMs - waitedMs,
          timeoutMs: prepared.timeoutMs,
          signal,
          attempts: attempts - 1,
        });
      let ownWaitMs = 0;
      let leave = isFree
        ? nothing
        : () => {
            leave = nothing;
            this.#gate.leave();
          };
      // Other requests must not wait for a delayed response.
      const cancel = isDelayed ? this.#clock.after(graceMs, () => leave()) : nothing;
      const sentAt = this.#clock.now();
      try {
        const reply = await this.#sendOnce(prepared, attempts);
        const data = readData({ reply, request, title, attempts, isUncertain: earlier.wasUncertain });
        if (isFree && takesRequests(data as RateLimit)) this.#gate.open();
        return createAnswer(data as Data, reply.status, reply.headers);
      } catch (error) {
        if (!(error instanceof AnimalStoreError)) throw error;
        // The duration of a failed attempt counts as waiting, but not that of a 429, whose `Retry-After` may equal
        // `maxWaitSeconds`.
        if (error.status !== 429) waitedMs += this.#clock.now() - sentAt;
        earlier.wasUncertain ||= isUncertain(error, prepared.method);
        const retry = this.#retry(error, prepared, attempts, waitedMs);
        if (retry === undefined) throw error;
        if (isFree || !retry.isShared) ownWaitMs = retry.waitMs;
        const { method, url } = prepared;
        this.#settings.hooks.onRetry?.({ method, url, attempt: attempts, error, waitMs: retry.waitMs });
      } finally {
        cancel();
        leave();
      }
      if (ownWaitMs > 0) await sleep(this.#clock, ownWaitMs, signal);
      waitedMs += ownWaitMs;
    }
  }

  async #sendOnce(prepared: Prepared, attempt: number): Promise<Reply> {
    const { fetch, hooks } = this.#settings;
    const sent = { method: prepared.method, url: prepared.url, attempt };
    hooks.onRequest?.(sent);
    const sentAt = this.#clock.now();
    const reply = await sendOnce(fetch, prepared, attempt, this.#wasReached);
    this.#wasReached = true;
    const { status, headers } = reply;
    if (!prepared.isDelayed || this.#clock.now() - sentAt < graceMs)
      this.#gate.update(readLimits(headers), sentAt);
    const requestId = headers.get('x-request-id') ?? undefined;
    hooks.onResponse?.({ ...sent, status, requestId, headers, durationMs: this.#clock.now() - sentAt });
    return reply;
  }

  /** Returns when to retry the request; undefined if it must not be retried. May block all calls until that time. */
  #retry(error: AnimalStoreError, prepared: Prepared, attempts: number, waitedMs: number) {
    const { maxRetries } = this.#settings;
    const { maxWaitMs } = prepared;
    const retry = planRetry(error, prepared, attempts, this.#clock);
    if (retry === undefined) return undefined;
    const maxMs = this.#wasReached ? maxWaitMs : Math.min(maxWaitMs, wrongAddressMs);
    const leftMs = maxMs - waitedMs;
    const waitMs = Math.max(retry.minMs, Math.min(retry.waitMs, leftMs));
    if (retry.isShared && !prepared.isFree) this.#gate.close(error, waitMs);
    const isAllowed = leftMs > 0 && waitMs <= leftMs && attempts <= maxRetries;
    return isAllowed ? { ...retry, waitMs } : undefined;
  }

  /** Requests the remaining quota. Ignores failures, because the next request reports the cause. */
  async #ask(): Promise<void> {
    const request = { method: 'GET', collection: 'rate-limit' } as const;
    const prepared = prepareRequest(request, this.#settings);
    const { title } = prepared;
    try {
      const timeoutMs = Math.min(prepared.timeoutMs, askingMs);
      const reply = await this.#sendOnce({ ...prepared, timeoutMs }, 1);
      readData({ reply, request, title, attempts: 1, isUncertain: false });
    } catch (error) {
      if (error instanceof AnimalStoreError) this.#retry(error, prepared, 1, 0);
    }
  }
}

function takesRequests({ minute, day, bannedUntil }: RateLimit): boolean {
  return bannedUntil === null && minute.remaining > 0 && day.remaining > 0;
}

/** Marks an error if the change may have been applied. */
function withOutcome(error: unknown, prepared: Prepared, wasUncertain: boolean): unknown {
  if (!(error instanceof AnimalStoreError) || !isOutcomeUnknown(error, prepared, wasUncertain)) return error;
  // The message of a 5xx says itself that there was no result. A 404 or 412 may be the result of an earlier attempt.
  const { status = 0 } = error;
  if (status < 500) error.message += ' The change may have been applied.';
  return Object.assign(error, { isOutcomeUnknown: true });
}

/** Replaces an error's stack trace, which shows only the event loop, with the caller's stack trace. */
function fromCaller(error: unknown, { stack }: Error): unknown {
  if (error instanceof AnimalStoreError && stack !== undefined) {
    // A stack begins with the error's name and message in V8, but not in other engines.
    error.stack = stack.replace(/^Error(?=\n)/, `${error.name}: ${error.message}`);
  }
  return error;
}
