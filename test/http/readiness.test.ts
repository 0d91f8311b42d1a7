import { expect, test } from 'bun:test';
import { header } from '../../src/storage/sqlite/limits/layout.ts';
import { LimitFile } from '../../src/storage/sqlite/limits/limit-file.ts';
import { startTestApp } from '../support/app.ts';
import { requestContextOf, serve } from '../support/request-context.ts';
import { until } from '../support/wait.ts';

test('a service that drains reports it on /readyz, still answers, and closes connections', async () => {
  await using app = await startTestApp();
  let isDraining = false;
  await using server = serve({ ...requestContextOf(app), isDraining: () => isDraining });
  const list = async () => {
    const headers = { Authorization: `Bearer ${app.key}` };
    const response = await fetch(`${server.url}/v1/pets`, { headers });
    return [response.status, response.headers.get('connection')];
  };
  expect(await list()).toEqual([200, null]);
  isDraining = true;
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, ready.headers.get('retry-after'), ready.headers.get('connection')]).toEqual([
    503,
    '5',
    'close',
  ]);
  expect(await ready.json()).toEqual({ status: 'stopping' });
  expect(await list()).toEqual([200, 'close']);
});

test('a service whose limit state is overwritten responds with 503, not 500, and reports it on /readyz', async () => {
  await using app = await startTestApp();
  const limits = app.config.databaseUrl.replace('sqlite:', '').replace(/\.db$/, '.limits');
  using file = new LimitFile(limits);
  // As a copy of the file has it that another store was served with.
  Atomics.add(file.i32, header.firstOwner, 1_000_000);
  const list = () => fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${app.key}` } });
  const answer = await list();
  expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
  await until(async () => (await (await fetch(`${app.url}/readyz`)).text()).includes('"degraded"'));
  await app.restart();
  expect((await list()).status).toBe(200);
});
