/** Rate limits, waiting and bans, with the real service in virtual time. */
import { describe, expect, test } from 'bun:test';
import {
  type AnimalStoreOptions,
  BannedError,
  RateLimitError,
  UnavailableError,
} from '../../client/src/index.ts';
import { startAppForFile } from '../support/app.ts';
import { freeClientOf } from '../support/free-client.ts';
import { rejectionOf } from '../support/rejection.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const app = await startAppForFile();

const freeClient = (options?: Partial<AnimalStoreOptions>) => freeClientOf(app, options);

describe('a 429', () => {
  test('delays all calls of the client, and no request is sent during the wait', async () => {
    const { time, answers, store, othersSend } = await freeClient();
    await othersSend(60);
    await time.until(Promise.all(Array.from({ length: 50 }, () => store.inventory.get())));
    expect(answers).toEqual(['429 at 0', 'asked at 60', ...Array(50).fill('200 at 60')]);
  });

  test('is avoided by a client that is the only user of its key, with any number of concurrent calls', async () => {
    const { time, answers, store } = await freeClient({ maxWaitSeconds: 600 });
    await time.until(Promise.all(Array.from({ length: 150 }, () => store.inventory.get())));
    const times = (count: number, what: string) => Array(count).fill(what);
    expect(answers).toEqual([
      ...times(60, '200 at 0'),
      ...times(60, '200 at 60'),
      ...times(30, '200 at 120'),
    ]);
  });

  test('is avoided by waiting up to a minute by default, even after slow responses', async () => {
    const { time, answers, client } = await freeClient();
    const slow = async (url: string, init: RequestInit) => {
      await time.sleep(100);
      return time.fetch(url, init);
    };
    const store = client({ fetch: slow });
    const calls = Array.from({ length: 150 }, () => store.inventory.get());
    const outcomes = await time.until(Promise.allSettled(calls));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(120);
    expect(answers.filter((answer) => answer.startsWith('429'))).toEqual([]);
  });

  test('can be waited out for exactly maxWaitSeconds, even if timers fire late', async () => {
    const { time, answers, store, othersSend } = await freeClient({ maxWaitSeconds: 60 });
    const after = time.after.bind(time);
    time.after = (ms, run) => after(ms + 3, run);
    await othersSend(60);
    await time.until(Promise.all(Array.from({ length: 50 }, () => store.inventory.get())));
    expect(answers).toEqual(['429 at 0', 'asked at 60', ...Array(50).fill('200 at 60')]);
  });

  test('causes an immediate rejection if the wait is longer than maxWaitSeconds, and later calls send no request', async () => {
    const { time, answers, store, othersSend } = await freeClient({ maxWaitSeconds: 20 });
    await othersSend(60);
    const error = (await time.until(rejectionOf(store.inventory.get()))) as RateLimitError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 60,
      attempts: 1,
    });
    await time.until(time.sleep(10_000));
    const second = await time.until(rejectionOf(store.inventory.get()));
    expect(second).toMatchObject({ retryAfterSeconds: 50, attempts: 0, requestId: error.requestId });
    await time.until(time.sleep(35_000));
    await time.until(store.inventory.get());
    expect(answers).toEqual(['429 at 0', 'asked at 60', '200 at 60']);
  });

  test('causes an immediate rejection with the remaining time if the daily quota is exhausted', async () => {
    const { time, store, othersSend } = await freeClient({ maxWaitSeconds: 60 });
    for (let minute = 0; minute < 17; minute++) {
      await othersSend(59);
      await time.until(time.sleep(60_000));
    }
    const error = await time.until(rejectionOf(store.inventory.get()));
    expect(error).toMatchObject({ code: 'daily_quota_exceeded', retryAfterSeconds: 86_400 - 17 * 60 });
    expect(time.now()).toBe(17 * 60_000);
  });

  test('causes a BannedError if the key is banned, and no request is sent until the ban ends', async () => {
    const { time, answers, store, othersSend } = await freeClient();
    await othersSend(61);
    await time.until(time.sleep(1_000));
    await othersSend(100);
    const banned = await time.until(rejectionOf(store.inventory.get()));
    expect(banned).toBeInstanceOf(BannedError);
    expect(banned).toMatchObject({ code: 'api_key_banned', retryAfterSeconds: 120 });
    expect(await time.until(rejectionOf(store.inventory.get()))).toBeInstanceOf(BannedError);
    await time.until(time.sleep(100_000));
    await time.until(store.inventory.get());
    expect(answers).toEqual(['429 at 1', 'asked at 121', '200 at 121']);
  });

  test('does not block rateLimit.get', async () => {
    const { time, store, othersSend } = await freeClient({ maxWaitSeconds: 0 });
    await othersSend(60);
    await time.until(rejectionOf(store.inventory.get()));
    expect(await time.until(store.rateLimit.get())).toMatchObject({
      minute: { remaining: 0 },
      bannedUntil: null,
    });
    expect(time.now()).toBe(0);
  });
});

test('rateLimit.get ends the wait if the operator has raised the limit', async () => {
  const { account, key } = await app.tenant('enterprise', { perMinute: 5, perDay: 5 });
  const time = new VirtualTime(app.clock);
  const store = time.client({ key, url: app.url });
  await time.until(Promise.all(Array.from({ length: 5 }, () => store.inventory.get())));
  expect(await time.until(rejectionOf(store.inventory.get()))).toMatchObject({
    code: 'daily_quota_exceeded',
  });
  await app.operator.accounts.update(account.id, { plan: 'pro' });
  expect(await time.until(rejectionOf(store.inventory.get()))).toMatchObject({
    code: 'daily_quota_exceeded',
  });
  expect(await time.until(store.rateLimit.get())).toMatchObject({ plan: 'pro' });
  await time.until(store.inventory.get());
  expect(time.now()).toBe(0);
});

describe('waiting', () => {
  test('ends for an aborted call, which rejects with the abort reason, and continues for other calls', async () => {
    const { time, store, othersSend } = await freeClient();
    await othersSend(60);
    const reason = new Error('The page was closed.');
    const ending = new AbortController();
    const first = rejectionOf(store.inventory.get({}, { signal: ending.signal }));
    const second = store.inventory.get();
    time.after(5_000, () => ending.abort(reason));
    expect(await time.until(first)).toBe(reason);
    expect(time.now()).toBe(5_000);
    await time.until(second);
    expect(time.now()).toBe(60_000);
    expect(await rejectionOf(store.inventory.get({}, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });

  test('continues for other calls when a delayed call is aborted', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 1_000 });
    const time = new VirtualTime(app.clock);
    const ending = new AbortController();
    let last: Promise<unknown> | undefined;
    const onRequest = () => {
      if (time.now() > 0) last ??= store.inventory.get();
    };
    const store = time.client({ key, url: app.url, onRequest });
    await time.until(store.inventory.get());
    const second = store.inventory.get();
    const third = rejectionOf(store.inventory.get({}, { signal: ending.signal }));
    // The third call is aborted, so the last call can use the only request of the next minute.
    void second.then(() => ending.abort());
    await time.until(third);
    expect(await time.until(last ?? third)).toHaveProperty('available');
    expect(time.now()).toBe(120_000);
  });

  test('is reported to the onRetry hook', async () => {
    const waits: unknown[] = [];
    const { time, store, othersSend } = await freeClient({
      onRetry: ({ attempt, waitMs, error }) => waits.push([attempt, waitMs, error.code]),
    });
    await othersSend(60);
    await time.until(store.inventory.get());
    expect(waits).toEqual([[1, 60_000, 'rate_limit_exceeded']]);
  });

  /** A client behind a proxy that first sends these responses, then forwards requests to the service. */
  const proxied = async (answers: readonly ResponseInit[], options: Partial<AnimalStoreOptions> = {}) => {
    const waits: number[] = [];
    const time = new VirtualTime(app.clock);
    const left = [...answers];
    const store = time.client({
      key: app.key,
      url: app.url,
      fetch: async (url, init) => {
        const next = left.shift();
        return next ? new Response('<h1>Wait</h1>', next) : time.fetch(url, init);
      },
      onRetry: ({ waitMs }) => waits.push(waitMs),
      ...options,
    });
    return { time, waits, store };
  };

  test('honors a Retry-After date', async () => {
    const headers = { date: 'Fri, 15 Jan 2027 10:00:00 GMT', 'retry-after': 'Fri, 15 Jan 2027 10:00:07 GMT' };
    const { time, waits, store } = await proxied([{ status: 503, headers }]);
    await time.until(store.inventory.get());
    expect(waits).toEqual([7_000]);
  });

  test('ignores a Retry-After that is neither a number nor a date, such as two numbers', async () => {
    const { time, waits, store } = await proxied([{ status: 503, headers: { 'retry-after': '3600, 10' } }]);
    await time.until(store.inventory.get());
    expect(waits[0]).toBeLessThanOrEqual(1_000);
  });

  test('is never shorter than Retry-After; without Retry-After, its upper bound doubles, with full jitter', async () => {
    const without = { status: 503 };
    const { time, waits, store } = await proxied([without, without, without, without]);
    await time.until(store.inventory.get());
    expect(waits).toHaveLength(4);
    for (const [at, ms] of waits.entries()) expect(ms / (1_000 * 2 ** at)).toBeWithin(0, 1);
    const shop = await proxied(Array(4).fill({ status: 503, headers: { 'retry-after': '3' } }));
    await shop.time.until(shop.store.inventory.get());
    expect(shop.waits[0]).toBe(3_000);
    for (const ms of shop.waits) expect(ms).toBeGreaterThanOrEqual(3_000);
    expect(new Set(shop.waits).size).toBe(4);
  });

  test('lasts as long as the longest Retry-After', async () => {
    const unavailable = (seconds: number) =>
      new Response('', { status: 503, headers: { 'retry-after': `${seconds}` } });
    const time = new VirtualTime(app.clock);
    const sentAt: number[] = [];
    const answers = [unavailable(9), unavailable(3)];
    const store = time.client({
      key: app.key,
      url: app.url,
      fetch: async (url, init) => (sentAt.push(time.now()) > 1 && answers.shift()) || time.fetch(url, init),
    });
    await time.until(store.inventory.get());
    await time.until(Promise.all([store.inventory.get(), store.inventory.get()]));
    expect(sentAt).toEqual([0, 0, 0, 9_000, 9_000]);
  });

  test('lasts at most maxWaitSeconds in total, across all retries', async () => {
    const { time, store } = await proxied(Array(50).fill({ status: 503, headers: { 'retry-after': '9' } }));
    const error = await time.until(rejectionOf(store.inventory.get()));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(time.now()).toBeLessThanOrEqual(60_000);
    expect(time.now()).toBeGreaterThan(9_000);
  });
});
