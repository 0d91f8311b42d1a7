/** Request history for operators: over time, by operation, by key, and failed requests. */
import { afterAll, describe, expect, test } from 'bun:test';
import { findLatencyBucket } from '../../src/domain/latency.ts';
import { openDesk } from '../support/admin-answers.ts';
import { newReport } from '../support/usage.ts';

const desk = await openDesk();
const { app, ask, done } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const now = () => app.clock.now();
const iso = (ms: number) => new Date(ms).toISOString();
const begin = (lengthMs: number, at: number) => at - (at % lengthMs);

/** Records requests to `listPets` at a given time, each with this latency. */
async function record(at: number, code: string, requests: number, latencyMs: number, to = app) {
  const minute = begin(minuteMs, at);
  await to.app.admin.storage.write('recordUsage', {
    minutes: [{ minute, operation: 'listPets', code, requests }],
    latencies: [{ minute, bucket: findLatencyBucket(latencyMs), requests }],
    keys: [],
    number: newReport(at),
    instance: { name: 'one', version: '2.0.0', startedAt: at, seenAt: 0 },
  });
}

interface Step {
  readonly from: string;
  readonly ok: number;
  readonly p50: number;
  readonly p99: number;
}

const history = (query: string) => done<Step[]>('GET', `/usage/history?${query}`);

describe('the request history', () => {
  test('contains request counts by outcome, and latencies, for each interval', async () => {
    const at = now() - 9 * dayMs;
    await record(at, 'ok', 90, 1);
    await record(at, 'pet_not_found', 5, 1);
    await record(at + minuteMs, 'rate_limit_exceeded', 4, 1_000);
    await record(at + minuteMs, 'internal_error', 1, 1_000);
    const range = `since=${iso(begin(dayMs, at))}&until=${iso(at + dayMs)}`;
    const [step, ...others] = await history(`${range}&step=1d`);
    expect(others).toEqual([]);
    expect(step).toMatchObject({ from: iso(begin(dayMs, at)), ok: 90, refused: 5, limited: 4, failed: 1 });
    expect([step?.p50 ?? 0, step?.p99 ?? 0].map((us) => Math.round(Math.log10(us)))).toEqual([3, 6]);
    expect(await history(`since=${iso(at)}&until=${iso(at + hourMs)}&step=1m`)).toMatchObject([
      { from: iso(begin(minuteMs, at)), ok: 90, limited: 0 },
      { from: iso(begin(minuteMs, at + minuteMs)), ok: 0, limited: 4 },
    ]);
    expect((await history(`${range}&step=6h`)).map(({ from }) => from)).toEqual([iso(begin(6 * hourMs, at))]);
  });

  test('defaults to the last hour, and starts on an interval boundary', async () => {
    await using other = await openDesk();
    const at = other.app.clock.now();
    await record(at - 2 * hourMs, 'ok', 1, 1, other.app);
    await record(at - hourMs + minuteMs, 'ok', 2, 1, other.app);
    const counts = async (query: string) =>
      (await other.done<Step[]>('GET', `/usage/history?${query}`)).map(({ ok }) => ok);
    expect(await counts('')).toEqual([2]);
    const inStep = iso(begin(hourMs, at - 2 * hourMs) + 1);
    expect(await counts(`step=1h&since=${inStep}`)).toEqual([1, 2]);
  });

  test('contains only the last 1,000 intervals of a longer period', async () => {
    const at = now() - 1_003 * minuteMs;
    await record(at, 'ok', 50, 1);
    const from = `step=1m&since=${iso(at - dayMs)}`;
    expect((await history(`${from}&until=${iso(at + 1_000 * minuteMs)}`)).map(({ ok }) => ok)).toContain(50);
    expect((await history(`${from}&until=${iso(at + 1_002 * minuteMs)}`)).map(({ ok }) => ok)).not.toContain(
      50,
    );
  });

  test('survives a restart, and so do the request counts per operation', async () => {
    await using other = await openDesk();
    await other.app.call('GET', '/pets');
    await other.app.restart();
    expect(await other.done<object[]>('GET', '/usage/history')).toMatchObject([{ ok: 1 }]);
    expect(await other.done<object[]>('GET', '/usage/operations')).toEqual([
      { operation: 'listPets', codes: { ok: 1 } },
    ]);
  });
});

test('requests are counted by operation and outcome, most frequent first, over ranges of hours or minutes', async () => {
  await using other = await openDesk();
  for (let times = 0; times < 3; times++) await other.app.call('GET', '/pets');
  await other.app.call('GET', '/pets/99');
  await other.app.call('GET', '/orders/99');
  await other.app.call('GET', '/pets?limit=0');
  await other.app.app.watch.recordUsage();
  const operations = [
    { operation: 'listPets', codes: { ok: 3, invalid_parameter: 1 } },
    { operation: 'getOrder', codes: { order_not_found: 1 } },
    { operation: 'getPet', codes: { pet_not_found: 1 } },
  ];
  expect(await other.done<object[]>('GET', '/usage/operations')).toEqual(operations);
  const since = iso(other.app.clock.now() - 20 * dayMs);
  expect(await other.done<object[]>('GET', `/usage/operations?since=${since}`)).toEqual(operations);
});

test("a key's requests are counted by day and operation", async () => {
  const { key, keyId } = await app.tenant('pro');
  await app.call('GET', '/pets', { key });
  await app.call('GET', '/pets?limit=0', { key });
  await app.call('GET', '/nowhere', { key });
  await app.app.watch.recordUsage();
  const from = iso(begin(dayMs, now()));
  expect(await done<object[]>('GET', `/keys/${keyId}/usage/operations`)).toEqual([
    { from, operation: 'listPets', requests: 2 },
    { from, operation: 'none', requests: 1 },
  ]);
  expect((await ask('GET', '/keys/4711/usage/operations')).code).toBe('key_not_found');
});

describe('failed requests', () => {
  const failed = (query: string) => done<object[]>('GET', `/usage/failed-requests?${query}`);

  test('are listed newest first, with their id, operation, status and code', async () => {
    const { account, key, keyId } = await app.tenant('pro');
    const call = (path: string, id: string) =>
      app.call('GET', path, { key, headers: { 'X-Request-Id': id } });
    await call('/pets/99', 'first-failure');
    await call('/pets', 'a-success');
    app.clock.advance(1);
    await call('/pets?limit=0', 'second-failure');
    const [second, first, ...others] = await failed(`keyId=${keyId}`);
    expect(others).toEqual([]);
    const common = { keyId, accountId: account.id };
    expect(second).toEqual({
      ...{ at: iso(now()), requestId: 'second-failure', operation: 'listPets' },
      ...{ status: 400, code: 'invalid_parameter', ...common },
    });
    expect(first).toMatchObject({ requestId: 'first-failure', status: 404, code: 'pet_not_found' });
    expect(await failed('requestId=first-failure')).toEqual([first as object]);
    expect(await failed(`keyId=${keyId}&limit=1`)).toEqual([second as object]);
  });

  test('are listed without a key if it was invalid, and without an operation if no path matches', async () => {
    await app.call('GET', '/nowhere', { key: null, headers: { 'X-Request-Id': 'without-a-key' } });
    expect(await failed('requestId=without-a-key')).toMatchObject([
      { operation: 'none', status: 401, code: 'missing_api_key', keyId: null, accountId: null },
    ]);
  });

  test('of one key do not displace the failed requests of other keys', async () => {
    const [quiet, loud] = [await app.tenant('pro'), await app.tenant('pro')];
    await app.call('GET', '/pets/99', { key: quiet.key });
    for (let times = 0; times < 30; times++) await app.call('GET', '/pets/99', { key: loud.key });
    expect((await failed(`keyId=${loud.keyId}&limit=100`)).length).toBe(25);
    expect((await failed(`keyId=${quiet.keyId}`)).length).toBe(1);
  });
});
