import { describe, expect, test } from 'bun:test';
import { writeSync } from 'node:fs';
import { limitsOverwritten } from '../../src/domain/trouble.ts';
import { header } from '../../src/storage/sqlite/limits/layout.ts';
import { LimitFile } from '../../src/storage/sqlite/limits/limit-file.ts';
import { startTestApp } from '../support/app.ts';
import { requestContextOf, serve } from '../support/request-context.ts';

test('a draining service responds to /readyz with 503, still serves API requests, and closes connections', async () => {
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

describe('a service whose limit state is overwritten', () => {
  const noise = () => Buffer.alloc(64_000, 0xa5);

  test.each([
    // A copy of the file from another run of the service.
    ['by a copy', (file: LimitFile) => Atomics.add(file.i32, header.firstOwner, 1_000_000)],
    ['by noise', (file: LimitFile) => writeSync(file.fd, noise(), 0, noise().length, 0)],
  ])('%s responds to /readyz and to API requests with 503 until it is restarted', async (_how, overwrite) => {
    await using app = await startTestApp();
    const limits = app.config.databaseUrl.replace('sqlite:', '').replace(/\.db$/, '.limits');
    {
      using file = new LimitFile(limits);
      overwrite(file);
    }
    const list = () => fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${app.key}` } });
    const ready = await fetch(`${app.url}/readyz`);
    expect([ready.status, ready.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await ready.json()).toEqual({ status: 'unavailable', trouble: [limitsOverwritten] });
    const answer = await list();
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
    await app.restart();
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    expect([200, 429]).toContain((await list()).status);
  });
});
