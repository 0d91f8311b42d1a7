/** A data file in which another program or the disk has damaged a page. */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basePath } from '../../src/contract/operations.ts';
import { scopes } from '../../src/domain/scope.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { clientOf } from '../support/client.ts';
import { damage, damageLeaves } from '../support/damage.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  dataFileIn,
  finished,
  issueKey,
  makeStore,
  program,
  settingsIn,
  startService,
} from '../support/process.ts';
import { until } from '../support/wait.ts';
import { expectUnavailable } from './disk.ts';

test.each(['accounts', 'keys'])(
  'if a page of %s is damaged, the error of the service and of commands names the data file and the remedy',
  async (table) => {
    await using folder = await temporaryFolder();
    await makeStore(folder.path);
    const path = dataFileIn(folder.path);
    damage(path, table);
    for (const words of [['serve'], [table, 'list']]) {
      const { exitCode, stderr } = await finished([...program, ...words], {
        environment: settingsIn(folder.path),
      });
      expect([words, exitCode]).toEqual([words, 1]);
      expect(stderr).toContain(`the data file ${path} is damaged (`.slice(4));
      expect(stderr).toContain('see "The data file is damaged" in docs/troubleshooting.md');
      expect(stderr).not.toContain('store.limits');
    }
  },
);

test('a page that is found damaged while serving causes 503, a problem in /readyz and one log line', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  const key = await issueKey(folder.path, 'enterprise', ample);
  damage(dataFileIn(folder.path), 'pets');
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, key);
  for (let attempt = 0; attempt < 3; attempt++) {
    expectUnavailable(await client.get('/pets'));
    expectUnavailable(await client.add('lost'));
  }
  expect((await client.get('/categories')).status).toBe(200);
  await until(async () =>
    (await (await fetch(`${service.url}/readyz`)).text()).includes(troubles.dataDamaged),
  );
  const reported = () => service.stderr().match(/degraded: the data file [^"\n]+store\.db is damaged/g) ?? [];
  await until(() => reported().length > 0);
  expect(reported()).toHaveLength(1);
});

test.each(['1', '2'])(
  'with %s workers, damage that writes find is reported once per worker, and does not make other changes fail',
  async (workers) => {
    await using folder = await temporaryFolder();
    await makeStore(folder.path);
    const key = await issueKey(folder.path, 'enterprise', ample, scopes);
    damage(dataFileIn(folder.path), 'orders');
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0', WORKERS: workers });
    const post = (resource: string, body: string) =>
      fetch(`${service.url}${basePath}/${resource}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body,
      });
    const add = () => post('pets', '{"name":"pet","categoryId":1}');
    const { id } = (await (await add()).json()) as { id: number };
    const order = () => post('orders', `{"petId":${id}}`);
    const reports = () => service.stderr().match(/"degraded: [^\n]+/g) ?? [];
    // All workers report the damage, including those that have served no request.
    expect((await order()).status).toBe(503);
    await until(() => reports().length >= Number(workers));
    for (let attempt = 0; attempt < 10; attempt++) {
      const replies = await Promise.all([order(), order(), add(), order(), add()]);
      expect(replies.map(({ status }) => status)).toEqual([503, 503, 201, 503, 201]);
    }
    expect(reports()).toHaveLength(Number(workers));
    for (const report of reports()) expect(report).toContain('is damaged (SQLITE_CORRUPT');
    expect(service.stderr()).not.toMatch(/requests fail with 503|available again/);
  },
);

test.each([
  ['adjacent and separate pages', [3, 4, 6]],
  ['the first page', [0]],
  ['the last page', [-1]],
])('export --skip-damaged exports all animals but those in damaged pages (%s)', async (_, pages) => {
  await using folder = await temporaryFolder();
  const environment = settingsIn(folder.path);
  const file = join(folder.path, 'animals.csv');
  const animals = Array.from({ length: 2_000 }, (_, index) => `animal ${index},7,available`);
  writeFileSync(file, ['name,categoryId,status', ...animals, ''].join('\n'));
  const run = (...words: string[]) => finished([...program, ...words], { environment });
  expect((await run('import', file)).exitCode).toBe(0);
  const exported = join(folder.path, 'exported.csv');
  const arguments_ = ['export', exported, '--ids', '--force'];
  await run(...arguments_);
  const all = readFileSync(exported, 'utf8').split('\n').slice(1, -1);
  damageLeaves(dataFileIn(folder.path), 'pets', pages);
  expect(await run(...arguments_)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('damaged') });
  const { exitCode, stderr } = await run(...arguments_, '--skip-damaged');
  expect(exitCode).toBe(0);
  const damaged = [...stderr.matchAll(/animals with ids from (\d+)(?: to (\d+))?\.\n/g)].map(
    ([, from, to = Number.POSITIVE_INFINITY]) => [Number(from), Number(to)] as const,
  );
  const isDamaged = (row: string) =>
    damaged.some(([from, to]) => parseInt(row, 10) >= from && parseInt(row, 10) <= to);
  expect(readFileSync(exported, 'utf8').split('\n').slice(1, -1)).toEqual(
    all.filter((row) => !isDamaged(row)),
  );
  expect(all.filter(isDamaged).length).toBeWithin(50, 200 * pages.length);
});
