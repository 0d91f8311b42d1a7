/** The service behind real proxies with the configurations in deploy/. */
import { afterAll, describe, expect } from 'bun:test';
import { deliveredProxy } from '../stress/rolling-proxy.ts';
import { startTestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { breakOff } from '../support/raw.ts';
import { testWith } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const authorization = `Bearer ${app.key}`;

const haproxyTest = testWith({ name: 'haproxy', package: 'haproxy' }, [
  findProgram('haproxy') ?? 'haproxy',
  '-v',
]);

const nginxTest = testWith({ name: 'nginx', package: 'nginx' }, [findProgram('nginx') ?? 'nginx', '-v']);

describe('behind nginx with compression', () => {
  const gzip = 'gzip on; gzip_types application/json; gzip_min_length 0;';

  nginxTest(
    'a change with the weakened ETag of the current response succeeds, and a change with an older ETag fails',
    async () => {
      await using proxy = await deliveredProxy('nginx', [app.url, app.url], gzip);
      if (proxy === undefined) throw new Error('nginx is missing.');
      const pets = `${proxy.url}/v1/pets`;
      const headers = { authorization, 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip' };
      const added = await fetch(pets, { method: 'POST', headers, body: newPet('Ozzy') });
      const pet = `${pets}/${((await added.json()) as { id: number }).id}`;
      const read = await fetch(pet, { headers });
      const etag = read.headers.get('etag') ?? '';
      expect([read.headers.get('content-encoding'), etag]).toEqual(['gzip', expect.stringMatching(/^W\/"/)]);
      const change = (name: string) =>
        fetch(pet, {
          method: 'PATCH',
          headers: { ...headers, 'If-Match': etag },
          body: JSON.stringify({ name }),
        });
      expect((await change('Anna')).status).toBe(200);
      expect((await change('Ben')).status).toBe(412);
      const { headers: current } = await fetch(pet, { headers });
      const tag = current.get('etag') ?? '';
      expect((await fetch(pet, { headers: { ...headers, 'If-None-Match': tag } })).status).toBe(304);
    },
  );
});

describe('behind haproxy', () => {
  haproxyTest("rejected chunked requests with trailers do not affect other clients' responses", async () => {
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
