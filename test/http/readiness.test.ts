import { describe, expect, test } from 'bun:test';
import { writeSync } from 'node:fs';
import type { Overview } from '../../src/contract/admin/system.ts';
import { fatalTroubles } from '../../src/domain/troubles.ts';
import { header } from '../../src/limits/file/layout.ts';
import { LimitFile } from '../../src/limits/file/limit-file.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
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
  const limitsOf = ({ config }: TestApp) =>
    config.databaseUrl.replace('sqlite:', '').replace(/\.db$/, '.limits');
  const noise = () => Buffer.alloc(64_000, 0xa5);

  test.each([
    // A copy of the file from another run of the service.
    ['by a copy', (file: LimitFile) => Atomics.add(file.i32, header.firstOwner, 1_000_000)],
    ['by noise', (file: LimitFile) => writeSync(file.fd, noise(), 0, noise().length, 0)],
  ])('%s responds to /readyz and to API requests with 503 until it is restarted', async (_how, overwrite) => {
    const { log, lines } = keptLog();
    await using app = await startTestApp({}, log);
    {
      using file = new LimitFile(limitsOf(app));
      overwrite(file);
    }
    const list = () => fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${app.key}` } });
    const ready = await fetch(`${app.url}/readyz`);
    expect([ready.status, ready.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await ready.json()).toEqual({ status: 'unavailable', trouble: [fatalTroubles.limitsOverwritten] });
    const answer = await list();
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
    await app.restart();
    const ends = lines.filter(({ refused }) => Number(refused) > 0);
    expect(ends).toEqual([
      expect.objectContaining({ msg: 'stopped while requests failed with 503', refused: 1 }),
    ]);
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    expect([200, 429]).toContain((await list()).status);
  });

  test('shows operators what to do', async () => {
    await using app = await startTestApp();
    const { token } = await addOperator(app, 'viewer');
    {
      using file = new LimitFile(limitsOf(app));
      Atomics.add(file.i32, header.firstOwner, 1_000_000);
    }
    const { body } = await callAdmin(app, 'GET', '/overview', { token });
    expect((body as Overview).concerns[0]).toEqual({
      what: fatalTroubles.limitsOverwritten,
      remedy: expect.stringMatching(
        /^If the log reports lost files, save the data first: .*only the service may write to it\.$/,
      ),
    });
  });
});
