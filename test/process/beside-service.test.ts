import { afterAll, expect, test } from 'bun:test';
import { encodeCursor } from '../../src/contract/cursor.ts';
import { answerOf, type CallOptions } from '../support/call.ts';
import { ended, type ImportReport, newWorkplace } from '../support/cli.ts';
import { until } from '../support/wait.ts';

const place = await newWorkplace();
const service = await place.serve({ BAN_STRIKES: '1' });
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

test('a new key is accepted, and a revoked key is rejected, starting with the next request', async () => {
  const { id, key } = await newKey('--plan', 'pro');
  expect(await statusOf(key)).toBe(200);
  await place.json('keys', 'revoke', String(id));
  expect(await statusOf(key)).toBe(401);
});

test('a ban is listed with its key, account, expiry and level, and lifting it takes effect on the next request', async () => {
  // Also limits requests per day, because the minute may end during the test on a slow machine.
  const quota = ['--plan', 'enterprise', '--per-minute', '1', '--per-day', '1'];
  const { id, accountId, key } = await newKey(...quota);
  expect(await statusOf(key)).toBe(200);
  expect((await call(key)).error.code).toBe('daily_quota_exceeded');
  // Requests within a second after the first 429 count as in flight. The first strike after that causes a ban.
  let banned = await call(key);
  await until(async () => {
    banned = await call(key);
    return banned.error.code === 'api_key_banned';
  });
  const bans = await place.json<object[]>('bans', 'list');
  const end = new Date(banned.number('x-ratelimit-reset') * 1_000).toISOString().replace('.000', '');
  expect(bans).toMatchObject([{ keyId: id, accountId, until: end, level: 0 }]);
  const { stdout } = await place.run(['bans', 'list']);
  expect(stdout).toMatch(/^KEY +NAME +ACCOUNT +ACCOUNT NAME +SINCE +UNTIL +LEVEL +REASON\n/);
  expect(stdout).toMatch(
    new RegExp(`\n${id} +unnamed +${accountId} +unnamed +\\S+ +${end} +0 +Kept sending .*\\.\n$`),
  );

  const status = await place.json('bans', 'status', String(id));
  expect(status).toMatchObject({ strikes: 0, bans: 1, nextBanSeconds: 240 });
  expect((await place.run(['bans', 'status', String(id)])).stdout).toMatch(
    new RegExp(
      `^0 strikes in the last 600 seconds; .* until ${end}\\. The next ban lasts 240 seconds\\.\n$`,
      's',
    ),
  );

  await place.json('accounts', 'set-plan', String(accountId), 'pro');
  expect((await call(key)).error.code).toBe('api_key_banned');
  expect(await place.json<object>('bans', 'lift', String(id))).toEqual({ keyId: id, lifted: true });
  expect(await statusOf(key)).toBe(200);
  expect((await place.run(['bans', 'list'])).stdout).toBe('No keys are banned.\n');
});

test('int64 values stay exact from import through the API to export', async () => {
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
  const before = BigInt(firstId ?? 0) - 1n;
  const cursor = before > 0n ? `&cursor=${encodeCursor({ after: before, filters: '' })}` : '';
  const { text } = await call(key, 'GET', `/pets?limit=100${cursor}`);
  for (const edge of edges) expect(text).toContain(`"categoryId":${edge},`);
  const { stdout } = await place.run(['export', '-', '--format', 'csv']);
  for (const edge of edges) expect(stdout).toContain(`Edge,${edge},available\n`);
});

test('the service responds to every create request during an import, and no animal is lost', async () => {
  const { key } = await newKey(...ample);
  const count = 6_000;
  const rows = Array.from({ length: count }, (_, row) => `imported ${row},1,pending\n`);
  const importing = place.start(['import', '-', '--format', 'csv', '--json']);
  const imported = ended(importing);
  const ids: bigint[] = [];
  const body = '{"name":"created meanwhile","categoryId":2,"status":"pending"}';
  const create = async () => {
    const answer = await call(key, 'POST', '/pets', { body });
    expect(answer.status).toBe(201);
    ids.push((answer.json as { id: bigint }).id);
  };
  let isDone = false;
  void imported.then(() => {
    isDone = true;
  });
  importing.stdin.write(`name,categoryId,status\n${rows.slice(0, count / 2).join('')}`);
  await importing.stdin.flush();
  // The import is still running, because it is waiting for the rest of its input.
  await until(async () => (await call(key, 'GET', '/pets?limit=1&status=pending')).text !== '[]');
  await create();
  importing.stdin.write(rows.slice(count / 2).join(''));
  await importing.stdin.end();
  while (!isDone) await create();
  const { exitCode, stdout: report } = await imported;
  expect(exitCode).toBe(0);
  const { added, firstId, lastId } = JSON.parse(report) as ImportReport;
  expect(added).toBe(count);
  expect((lastId ?? 0) - (firstId ?? 0) + 1).toBeGreaterThan(count);
  const { stdout } = await place.run(['export', '-', '--format', 'csv']);
  const exported = stdout.split('\n');
  const those = exported.filter((row) => row.startsWith('imported '));
  expect(those.join('\n') === rows.join('').trimEnd()).toBe(true);
  expect(exported.filter((row) => row.startsWith('created '))).toHaveLength(ids.length);
});
