import { expect } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/means.ts';
import { serveCommand, startService } from '../support/process.ts';
import { Connection } from './connection.ts';

const descriptors = 96;

testWith('prlimit (util-linux)', ['prlimit', '--nofile=96', 'true'])(
  'with few descriptors and more half-sent heads than those, new clients are answered, the reference included',
  async () => {
    await using folder = await temporaryFolder();
    const command = ['prlimit', `--nofile=${descriptors}:${descriptors}`, ...serveCommand];
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' }, command);
    using held = new DisposableStack();
    for (let count = 0; count < 3 * descriptors; count++) {
      // One that is refused or reset is none that is held.
      const connection = await Connection.open(service.url).catch(() => undefined);
      if (connection === undefined) continue;
      held.use(connection).write('GET /livez HTTP/1.1\r\nHost:');
    }
    for (const path of ['/livez', '/docs/scalar.js', '/openapi.json']) {
      expect((await answered(service.url + path)).status).toBe(200);
    }
    expect(service.stderr()).toContain('too many connections');
    expect(service.stderr()).not.toContain('EMFILE');
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
  },
  30_000,
);

/** A client that tries again when its connection is not accepted or reset, as every client of a network has to. */
async function answered(url: string): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, { signal: AbortSignal.timeout(5_000), keepalive: false });
    } catch {
      await Bun.sleep(20);
    }
  }
}
