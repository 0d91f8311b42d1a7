import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, issueKey, startService } from '../support/process.ts';
import { exchange, sendAndHalfClose } from '../support/raw.ts';

test('a failed request is logged with its route instead of its URL, which may contain a key', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  {
    using database = new Database(dataFileIn(folder.path));
    database.run('DROP TABLE keys');
  }
  const client = clientOf(service.url, service.firstKey ?? '');
  const secret = service.firstKey?.slice('ask_'.length, -6) ?? '';
  // A client error is not logged as an error.
  expect((await fetch(`${service.url}/v1/pets`)).status).toBe(401);
  for (const target of [`/pets?api_key=${secret}`, `/pets/${secret}`, `/${secret}`]) {
    expect((await client.get(target)).status).toBe(500);
  }
  service.signal('SIGTERM');
  await service.exited;
  const lines = service.stderr().trim().split('\n');
  const failures = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed');
  expect(failures.map(({ route }) => route)).toEqual(['/v1/pets', '/v1/pets/:petId', undefined]);
  for (const { level, code, err } of failures) {
    // 50 is pino's error level.
    expect([level, code]).toEqual([50, 'internal_error']);
    expect(err.message).toContain('no such table: keys');
  }
  expect(service.stderr()).not.toContain(secret);
});

test('an incomplete or malformed body is not logged, because it is a client error', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  const key = await issueKey(folder.path, 'pro');
  const head =
    `POST /v1/pets HTTP/1.1\r\nHost: animals.example\r\nAuthorization: Bearer ${key}\r\n` +
    'Content-Type: application/json\r\n';
  await exchange(service.url, `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
  await sendAndHalfClose(service.url, `${head}Content-Length: 50\r\n\r\n{"name"`);
  // The log is read after the process has exited, so that it is complete.
  service.signal('SIGTERM');
  await service.exited;
  expect(service.stderr()).toContain('"msg":"stopping"');
  expect(service.stderr()).not.toMatch(/request (failed|refused)/);
});
