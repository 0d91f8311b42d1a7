/** The service behind real proxies, with the configurations in deploy/. */
import { afterAll, describe, expect, setDefaultTimeout } from 'bun:test';
import { deliveredProxy } from '../stress/rolling-proxy.ts';
import { startTestApp } from '../support/app.ts';
import { breakOff } from '../support/raw.ts';
import { testWith } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const authorization = `Bearer ${app.key}`;

const haproxyTest = testWith({ name: 'haproxy', package: 'haproxy' }, [
  findProgram('haproxy') ?? 'haproxy',
  '-v',
]);

describe('behind haproxy', () => {
  haproxyTest('refused chunked requests with trailers leave no response to other clients', async () => {
    await using proxy = await deliveredProxy('haproxy', [app.url, app.url]);
    if (proxy === undefined) throw new Error('haproxy is missing.');
    const { url } = proxy;
    let attacks = 0;
    const attack = async () => {
      for (let sent = 0; sent < 200; sent++) {
        await breakOff(
          url,
          'POST /v1/pets HTTP/1.1\r\nHost: animals.example\r\nTransfer-Encoding: chunked\r\n\r\n' +
            '2\r\n{}\r\n0\r\nX-Checksum: 1\r\n\r\n',
        );
        attacks++;
      }
    };
    const statuses = new Set<number>();
    const attacking = Promise.all(Array.from({ length: 8 }, attack));
    const others = Array.from({ length: 8 }, async () => {
      while (attacks < 1_600) {
        const { status } = await fetch(`${url}/v1/rate-limit`, { headers: { authorization } });
        statuses.add(status);
      }
    });
    await Promise.all([attacking, ...others]);
    expect(statuses).toEqual(new Set([200]));
  });
});
