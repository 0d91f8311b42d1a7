import { expect, setDefaultTimeout, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { startService } from '../support/process.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { beginPost, Connection } from './connection.ts';
import { filtering } from './filtering.ts';
import { stopUnderReconnecting } from './reconnecting.ts';

setDefaultTimeout(testTimeoutMs);

filtering('a connection that is there when the listener closes is answered', async () => {
  // The longest drain gives slow clients the longest time; the stress test `stop` has short ones.
  const { refused, failures, exitCode } = await stopUnderReconnecting(32, 5);
  expect(failures).toEqual([]);
  expect([refused, exitCode]).toEqual([32, 0]);
});

test('connections that never sent a request, or only half a head, are not waited for as a request under way is', async () => {
  await using quietFolder = await temporaryFolder();
  await using busyFolder = await temporaryFolder();
  // The system hands a connection without a byte to the service after about a second, so within the drain.
  await using quiet = await startService(quietFolder.path, { DRAIN_SECONDS: '3' });
  await using busy = await startService(busyFolder.path, { DRAIN_SECONDS: '3' });
  using silent = await Connection.open(quiet.url);
  using half = await Connection.open(quiet.url);
  half.write('GET /livez HTTP/1.1\r\nHost:');
  using endless = await Connection.open(busy.url);
  endless.write(beginPost(busy.firstKey ?? '', '{"name":"Ozzy","categoryId":1}', 10));
  expect((await fetch(`${busy.url}/livez`)).status).toBe(200);
  const ended: string[] = [];
  const both = [
    quiet.exited.then((code) => ended.push(`quiet ${code}`)),
    busy.exited.then((code) => ended.push(`busy ${code}`)),
  ];
  busy.signal('SIGTERM');
  quiet.signal('SIGTERM');
  await Promise.all(both);
  expect(ended).toEqual(['quiet 0', 'busy 0']);
  await expect(silent.reply()).rejects.toThrow('No answer');
});
