/** Commands that show requests by key, remaining limits and the state of the store. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newWorkplace, type Workplace } from '../support/cli.ts';
import { operatorOf } from '../support/process.ts';
import { newReport } from '../support/usage.ts';

const counts = { ok: 5, refused: 4, limited: 3, failed: 2 };
const instance = { name: 'one', version: '1.1.0', startedAt: 1_000 };

let place: Workplace;
beforeAll(async () => {
  place = await newWorkplace();
  await place.json('keys', 'create', '--plan', 'free', '--name', 'till');
  await using operator = await operatorOf(place.folder);
  const now = operator.clock.now();
  const [minute, hour] = [now - (now % 60_000), now - (now % 3_600_000)];
  const minutes = [
    { minute, operation: 'listPets', code: 'ok', requests: 5 },
    { minute, operation: 'listPets', code: 'invalid_parameter', requests: 4 },
  ];
  const operations = [{ operation: 'listPets', requests: 14 }];
  const keys = [{ keyId: 1, accountId: 1, hour, ...counts, deprecated: 1, lastUsedAt: minute, operations }];
  await operator.storage.write('recordUsage', {
    minutes,
    keys,
    latencies: [{ minute, bucket: 20, requests: 9 }],
    number: newReport(now),
    instance: { ...instance, seenAt: now },
  });
});
afterAll(() => place[Symbol.asyncDispose]());

test('usage lists the keys with the most requests, and the callers of deprecated operations', async () => {
  const caller = { keyId: 1, keyName: 'till', accountId: 1, accountName: 'till', ...counts, deprecated: 1 };
  expect(await place.json<object[]>('usage')).toMatchObject([caller]);
  expect(await place.json<object[]>('usage', '--deprecated')).toMatchObject([caller]);
  expect(await place.json<object[]>('usage', '--since', '2020-01-01', '--until', '2020-02-01')).toEqual([]);
  const { stdout } = await place.run(['usage']);
  expect(stdout).toMatch(/^KEY +NAME +ACCOUNT +ACCOUNT NAME +OK +4XX +429 +5XX +DEPRECATED +LAST USED\n/);
});

test('usage shows requests over time, for an account, for a key or by operation', async () => {
  expect(await place.json<object[]>('usage', '--account', '1')).toMatchObject([counts]);
  expect(await place.json<object[]>('usage', '--key', '1', '--by', 'day')).toMatchObject([counts]);
  const codes = { ok: 5, invalid_parameter: 4 };
  expect(await place.json<object[]>('usage', '--operations')).toMatchObject([
    { operation: 'listPets', codes },
  ]);
  expect(await place.json<object[]>('usage', '--key', '1', '--operations')).toMatchObject([
    { operation: 'listPets', requests: 14 },
  ]);
  expect(await place.json<object[]>('usage', '--history')).toMatchObject([{ ok: 5, refused: 4, p50: 72 }]);
  const { stdout } = await place.run(['usage', '--history', '--step', '1h']);
  expect(stdout).toMatch(/^FROM +OK +4XX +429 +5XX +P50 +P95 +P99\n.* 72 µs/);
  expect(await place.json<object[]>('usage', '--minutes')).toMatchObject([{ operation: 'listPets', codes }]);
});

test('keys show prints when a key was last used and how many requests it sent today', async () => {
  expect(await place.json<object>('keys', 'show', '1')).toMatchObject({ state: 'live', requestsToday: 14 });
});

test('limits show prints the current counts of a running service', async () => {
  const { key, accountId } = await place.json<{ key: string; accountId: number }>(
    'keys',
    'create',
    '--plan',
    'pro',
  );
  const limits = () => place.json<{ day: object }>('limits', 'show', String(accountId));
  expect((await limits()).day).toEqual({ limit: 10_000, used: 0, resetAt: null });
  await using service = await place.serve();
  const headers = { Authorization: `Bearer ${key}` };
  for (let sent = 0; sent < 2; sent++) await fetch(`${service.url}/v1/pets`, { headers });
  expect((await limits()).day).toMatchObject({ limit: 10_000, used: 2 });
});

test('status shows the store and its instances', async () => {
  const status = await place.json<{ troubles: string[]; store: object; instances: object[] }>('status');
  expect(status).toMatchObject({ troubles: [], store: { engine: 'SQLite' } });
  expect(status.instances).toContainEqual(expect.objectContaining({ name: 'one', version: '1.1.0' }));
  expect((await place.run(['status'])).stdout).toContain('No problems found in the store.');
});

test.each([
  ['options that exclude each other', ['usage', '--account', '1', '--key', '1'], /only one of/],
  ['an invalid time', ['usage', '--since', 'yesterday'], /such as 24h/],
  [
    'an end before the start',
    ['usage', '--history', '--since', '1h', '--until', '2h'],
    /--until must not be/,
  ],
  ['a limit above the page size', ['usage', '--limit', '101'], /at most 100/],
])('the usage command with %s fails with a usage error', async (_mistake, args, message) => {
  expect(await place.failure(2, ...args)).toMatch(message);
});
