import { expect, setDefaultTimeout, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/means.ts';
import { testPatienceMs } from '../support/patience.ts';
import { startService } from '../support/process.ts';
import { Connection } from './connection.ts';
import { stopUnderReconnecting } from './reconnecting.ts';

setDefaultTimeout(testPatienceMs);

const linux = testWith(
  { name: 'Linux, where a listening socket can refuse newcomers', package: 'linux-image', optional: true },
  ['test', '-e', '/proc/self/fd'],
);

for (const drainSeconds of [0, 1]) {
  linux(
    `a connection that is there when the listener closes is answered, with a drain of ${drainSeconds} s`,
    async () => {
      const { refused, failures, exitCode } = await stopUnderReconnecting(32, drainSeconds);
      expect(failures).toEqual([]);
      expect([refused, exitCode]).toEqual([32, 0]);
    },
  );
}

test('connections that never sent a request, or only half a head, do not keep the service from stopping', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  using silent = await Connection.open(service.url);
  using half = await Connection.open(service.url);
  half.write('GET /livez HTTP/1.1\r\nHost:');
  using answered = await Connection.open(service.url);
  answered.write('GET /livez HTTP/1.1\r\nHost: test\r\n\r\n');
  expect((await answered.reply()).status).toBe(200);
  // The system hands a connection without a byte to the service after about a second.
  await Bun.sleep(1_500);
  service.signal('SIGTERM');
  const stoppedFirst = await Promise.race([
    service.exited,
    // Less than a request under way would get: nobody is waited for here.
    Bun.sleep(8_000).then(() => 'the service goes on'),
  ]);
  expect(stoppedFirst).toBe(0);
  await expect(silent.reply()).rejects.toThrow('No answer');
});
