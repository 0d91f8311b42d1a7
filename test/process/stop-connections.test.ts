import { expect, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { startService } from '../support/process.ts';
import { beginPost, Connection } from './connection.ts';
import type { BeginDrained } from './drain.ts';
import { filtering } from './filtering.ts';
import { stopUnderReconnecting } from './reconnecting.ts';
import { embeddedTests } from './worker-stores.ts';

/** Stops a service with few clients and the longest possible drain, so that the test passes on slow machines. */
async function stopUnderFew(begin?: BeginDrained): Promise<void> {
  const { refused, failures, exitCode } = await stopUnderReconnecting(8, 5, begin);
  expect({ refused, failures, exitCode }).toEqual({ refused: 8, failures: [], exitCode: 0 });
}

filtering('a connection that exists when the listener closes still gets a response', () => stopUnderFew());

embeddedTests(filtering)(
  "a connection that exists when the workers' listeners close still gets a response",
  (stores) => stopUnderFew(stores.beginDrained),
);

test('graceful shutdown waits for in-flight requests, but not for idle connections or incomplete request heads', async () => {
  await using quietFolder = await temporaryFolder();
  await using busyFolder = await temporaryFolder();
  // The drain is long enough for connections without data, which the system passes to the service only after about a
  // second.
  await using quiet = await startService(quietFolder.path, { DRAIN_SECONDS: '3' });
  await using busy = await startService(busyFolder.path, { DRAIN_SECONDS: '3' });
  using silent = await Connection.open(quiet.url);
  using half = await Connection.open(quiet.url);
  half.write('GET /livez HTTP/1.1\r\nHost:');
  using endless = await Connection.open(busy.url);
  const body = '{"name":"Ozzy","categoryId":1}';
  endless.write(beginPost(busy.firstKey ?? '', body, 10));
  expect((await fetch(`${busy.url}/livez`)).status).toBe(200);
  busy.signal('SIGTERM');
  quiet.signal('SIGTERM');
  expect(await quiet.exited).toBe(0);
  endless.write(body.slice(10));
  expect((await endless.reply()).status).toBe(201);
  expect(await busy.exited).toBe(0);
  await expect(silent.reply()).rejects.toThrow('No answer');
});
