import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { answerOf, type CallOptions } from '../support/call.ts';
import { type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';
import type { Service } from '../support/process.ts';

// Processes start slowly on a busy machine.
setDefaultTimeout(20_000);

let place: Workplace;
let service: Service;
beforeAll(async () => {
  place = await newWorkplace();
  service = await place.serve({ BAN_STRIKES: '1' });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

interface Issued {
  readonly id: number;
  readonly accountId: number;
  readonly key: string;
}

const newKey = (...args: string[]) => place.json<Issued>('keys', 'create', ...args);
const ample = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
const call = (key: string, method = 'GET', target = '/pets', options: CallOptions = {}) =>
  answerOf(service.url, method, target, { key, ...options });
const statusOf = async (key: string) => (await call(key)).status;

test('a key the command line creates is admitted on the next request, and one it revokes is not', async () => {
  const { id, key } = await newKey('--plan', 'pro');
  expect(await statusOf(key)).toBe(200);
  await place.json('keys', 'revoke', String(id));
  expect(await statusOf(key)).toBe(401);
});

test('rotating with grace 0 ends the old key at once and begins the new one; with grace both live', async () => {
  const old = await newKey('--plan', 'pro');
  expect(await statusOf(old.key)).toBe(200);
  const second = await place.json<Issued>('keys', 'rotate', String(old.id), '--grace', '0');
  expect([await statusOf(old.key), await statusOf(second.key)]).toEqual([401, 200]);
  const third = await place.json<Issued>('keys', 'rotate', String(second.id));
  expect([await statusOf(second.key), await statusOf(third.key)]).toEqual([200, 200]);
  // One account, so one count, whichever of its keys calls: three requests were admitted before this one.
  expect((await call(third.key)).number('x-ratelimit-remaining')).toBe(295);
});

test('a plan that is set is the one that counts the next request', async () => {
  const { accountId, key } = await newKey('--plan', 'free');
  expect((await call(key)).number('x-ratelimit-limit')).toBe(60);
  await place.json('accounts', 'set-plan', String(accountId), 'business');
  const { headers } = await call(key);
  expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['1000', '998']);
});

test('a ban is listed with its key, account, end and level, and lifting it counts on the next request', async () => {
  const quota = ['--plan', 'enterprise', '--per-minute', '1', '--per-day', '100'];
  const { id, accountId, key } = await newKey(...quota);
  expect(await statusOf(key)).toBe(200);
  expect((await call(key)).error.code).toBe('rate_limit_exceeded');
  // Requests within a second of the first 429 were under way already; then one strike is enough here.
  await Bun.sleep(1_050);
  const banned = await call(key);
  expect(banned.error.code).toBe('api_key_banned');
  const bans = await place.json<object[]>('bans', 'list');
  const until = new Date(banned.number('x-ratelimit-reset') * 1_000).toISOString().replace('.000', '');
  expect(bans).toEqual([{ keyId: id, accountId, until, level: 0 }]);
  const told = await place.run(['bans', 'list']);
  expect(told.stdout).toMatch(new RegExp(`^KEY +ACCOUNT +UNTIL +LEVEL\n${id} +${accountId} +${until} +0\n$`));

  await place.json('accounts', 'set-plan', String(accountId), 'pro');
  expect((await call(key)).error.code).toBe('api_key_banned');
  expect(await place.json<object>('bans', 'lift', String(id))).toEqual({ keyId: id, lifted: true });
  expect(await statusOf(key)).toBe(200);
  expect((await place.run(['bans', 'list'])).stdout).toBe('No key is banned.\n');
});

test('int64 is exact from an import through the API and back to an export', async () => {
  const { key } = await newKey(...ample);
  const edges = ['9223372036854775807', '-9223372036854775808', '9007199254740993'];
  await Bun.write(
    place.path('edges.csv'),
    `categoryId,name\n${edges.map((edge) => `${edge},Edge\n`).join('')}`,
  );
  const { firstId } = await place.json<ImportReport>('import', 'edges.csv');
  for (const [index, edge] of edges.entries()) {
    const { text } = await call(key, 'GET', `/pets/${(firstId ?? 0) + index}`);
    expect(text).toContain(`"categoryId":${edge},`);
  }
  const { text } = await call(key, 'GET', '/pets?limit=100');
  for (const edge of edges) expect(text).toContain(`"categoryId":${edge},`);
  const { stdout } = await place.run(['export', '-', '--format', 'csv']);
  for (const edge of edges) expect(stdout).toContain(`Edge,${edge},available\n`);
});

test('while an import runs, the service answers every creation and loses none of either side', async () => {
  const { key } = await newKey(...ample);
  const count = 25_000;
  const rows = Array.from({ length: count }, (_, row) => `imported ${row},1,pending\n`);
  await Bun.write(place.path('bulk.csv'), `name,categoryId,status\n${rows.join('')}`);
  const importing = place.json<ImportReport>('import', 'bulk.csv');
  let isDone = false;
  void importing.finally(() => {
    isDone = true;
  });
  const ids: bigint[] = [];
  const body = '{"name":"created meanwhile","categoryId":2,"status":"pending"}';
  let slowestMs = 0;
  while (!isDone) {
    const from = performance.now();
    const answer = await call(key, 'POST', '/pets', { body });
    slowestMs = Math.max(slowestMs, performance.now() - from);
    expect(answer.status).toBe(201);
    ids.push((answer.json as { id: bigint }).id);
  }
  const { added, firstId, lastId } = await importing;
  expect(added).toBe(count);
  // Some came in between the groups.
  expect((lastId ?? 0) - (firstId ?? 0) + 1).toBeGreaterThan(count);
  expect(slowestMs).toBeLessThan(2_000);
  const { stdout } = await place.run(['export', '-', '--format', 'csv']);
  expect(
    stdout
      .split('\n')
      .filter((row) => row.startsWith('imported '))
      .join('\n'),
  ).toBe(rows.join('').trimEnd());
  expect(stdout.split('\n').filter((row) => row.startsWith('created '))).toHaveLength(ids.length);
});
