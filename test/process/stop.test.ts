import { describe, expect, test } from 'bun:test';
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, startService } from '../support/process.ts';
import { beginPost, Connection } from './connection.ts';
import { drainUnder } from './drain.ts';

const body = '{"name":"Ozzy","categoryId":1}';

const stopping = '"msg":"stopping"';

describe('draining', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`with ${signal}, each of 32 idle clients gets a response to its next request, and its connection is closed`, async () => {
      const { closed, failures, exitCode } = await drainUnder({ clients: 32, signal });
      expect({ closed, failures, exitCode }).toEqual({ closed: 32, failures: [], exitCode: 0 });
    });
  }

  test('/readyz returns 503 immediately, while other requests still succeed', async () => {
    await using folder = await temporaryFolder();
    // The longest possible drain, so that even a slow machine can send all these requests before it ends.
    await using service = await startService(folder.path, { DRAIN_SECONDS: '5' });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    service.signal('SIGTERM');
    await service.logged(stopping);
    const ready = await fetch(`${service.url}/readyz`);
    expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    using connection = await Connection.open(service.url);
    const { status, closes } = await connection.get('/v1/pets', service.firstKey ?? '');
    expect([status, closes]).toEqual([200, true]);
    expect(await service.exited).toBe(0);
  });

  test('shutdown waits for a slow request body, but times out on a body that never ends', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const key = service.firstKey ?? '';
    using slow = await Connection.open(service.url);
    using endless = await Connection.open(service.url);
    for (const connection of [slow, endless]) connection.write(beginPost(key, body, 10));
    await clientOf(service.url, key).get('/pets');
    service.signal('SIGTERM');
    await service.logged(stopping);
    // Long enough to show that the service waits for the slow body. The service waits up to 10 s, and the remaining
    // time is a margin for slow machines.
    await Bun.sleep(3_000);
    slow.write(body.slice(10));
    expect((await slow.reply()).status).toBe(201);
    expect(await service.exited).toBe(0);
    await expect(endless.reply()).rejects.toThrow('No answer');
    expect(rowsOf(dataFileIn(folder.path), 'SELECT name FROM pets')).toEqual([{ name: 'Ozzy' }]);
  });
});
