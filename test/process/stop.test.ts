import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { countsIn } from '../support/limit-file.ts';
import { dataFileIn, issueKey, limitFileIn, type Service, startService } from '../support/process.ts';
import { testTimeoutMs, until } from '../support/wait.ts';
import { beginPost, Connection } from './connection.ts';
import { drainUnder } from './drain.ts';

setDefaultTimeout(testTimeoutMs);

const body = '{"name":"Ozzy","categoryId":1}';

const stopping = '"msg":"stopping"';

/** Resolves when the service takes no more connections. */
async function listenerClosed({ url }: Service): Promise<void> {
  await until(async () => {
    const connection = await Connection.open(url).catch(() => undefined);
    connection?.[Symbol.dispose]();
    return connection === undefined;
  });
}

describe('draining', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: 32 keep-alive clients between two requests see none fail, and are told to close`, async () => {
      const { answered, told, failures, exitCode } = await drainUnder({
        clients: 32,
        seed: 20_270_115,
        signal,
        // The longest there is: on a slow machine clients come back late.
        drainSeconds: 5,
      });
      expect(failures).toEqual([]);
      expect(told).toBe(32);
      expect(answered).toBeGreaterThanOrEqual(32);
      expect(exitCode).toBe(0);
    });
  }

  test('/readyz says 503 at once, while requests are still answered', async () => {
    await using folder = await temporaryFolder();
    // The longest drain there is, so that a slow machine asks all it wants to within it.
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

  test('a request whose body is still on its way when the drain ends is finished and stored', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const key = service.firstKey ?? '';
    using connection = await Connection.open(service.url);
    connection.write(beginPost(key, body, 10));
    await clientOf(service.url, key).get('/pets');
    service.signal('SIGTERM');
    await service.logged(stopping);
    await listenerClosed(service);
    connection.write(body.slice(10));
    expect((await connection.reply()).status).toBe(201);
    expect(await service.exited).toBe(0);
    expect(rowsOf(dataFileIn(folder.path), 'SELECT name FROM pets')).toEqual([{ name: 'Ozzy' }]);
  });

  test('a body may take most of the 10 seconds a stop has, and one that never ends does not make them more', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const key = service.firstKey ?? '';
    using slow = await Connection.open(service.url);
    using endless = await Connection.open(service.url);
    for (const connection of [slow, endless]) connection.write(beginPost(key, body, 10));
    await clientOf(service.url, key).get('/pets');
    service.signal('SIGTERM');
    await service.logged(stopping);
    // Longer than requests under way once got.
    await Bun.sleep(6_000);
    slow.write(body.slice(10));
    expect((await slow.reply()).status).toBe(201);
    expect(await service.exited).toBe(0);
    await expect(endless.reply()).rejects.toThrow('No answer');
    expect(rowsOf(dataFileIn(folder.path), 'SELECT name FROM pets')).toEqual([{ name: 'Ozzy' }]);
  });
});

describe('stopping', () => {
  test('counts are written exactly, and go on after the next start', async () => {
    await using folder = await temporaryFolder();
    let key: string;
    let reset: string | null;
    {
      await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
      key = await issueKey(folder.path, 'business');
      const client = clientOf(service.url, key);
      for (let request = 0; request < 6; request++) await client.get('/pets');
      const last = await client.add('Ozzy');
      expect(last.remaining).toBe(993);
      reset = last.headers.get('x-ratelimit-reset');
      service.signal('SIGTERM');
      expect(await service.exited).toBe(0);
    }
    const limits = limitFileIn(folder.path);
    expect(countsIn(limits, 2)).toEqual({ minute: 7, day: 7 });

    await using again = await startService(folder.path);
    const { remaining, headers } = await clientOf(again.url, key).get('/pets');
    expect([remaining, headers.get('x-ratelimit-reset')]).toEqual([992, reset]);
  });
});
