import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startTestApp();
await addPets(app, 3);
afterAll(() => app[Symbol.asyncDispose]());

const spent = await app.tenant('enterprise', { perMinute: 1, perDay: 1 });
await app.call('GET', '/pets', { key: spent.key });

const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
const ofAll = [
  ...['cache-control', 'content-length', 'content-type', 'date', 'x-content-type-options', 'x-request-id'],
];
const ofCallers = [...ofAll, ...limits, 'ratelimit', 'ratelimit-policy'];
const deprecated = ['deprecation', 'sunset', 'link'];

/** Each kind of response, with its expected header names. */
const kinds = [
  { kind: 'a page', send: () => app.call('GET', '/pets'), names: [...ofCallers, 'link', 'etag'] },
  { kind: 'an animal', send: () => app.call('GET', '/pets/1'), names: [...ofCallers, ...deprecated, 'etag'] },
  {
    kind: 'a created animal',
    send: () => app.call('POST', '/pets', { body: newPet('Ozzy', '1') }),
    names: [...ofCallers, 'etag', 'location'],
  },
  {
    kind: 'an empty success',
    send: async () => {
      const { json } = await app.call('PUT', '/categories/1', { body: '{"name":"Dogs"}' });
      return app.call('DELETE', `/categories/${(json as { id: bigint }).id}`);
    },
    names: ofCallers.filter((name) => !name.startsWith('content-')),
  },
  {
    kind: '304',
    send: () => app.call('GET', '/pets', { headers: { 'If-None-Match': '*' } }),
    names: [...ofCallers.filter((name) => !name.startsWith('content-')), 'link', 'etag'],
  },
  {
    kind: '401',
    send: () => app.call('GET', '/pets', { key: null }),
    names: [...ofAll, ...limits, 'link', 'www-authenticate'],
  },
  { kind: '404', send: () => app.call('GET', '/nowhere'), names: [...ofCallers, 'link'] },
  { kind: '405', send: () => app.call('DELETE', '/pets'), names: [...ofCallers, 'link', 'allow'] },
  {
    kind: '429',
    send: () => app.call('GET', '/pets', { key: spent.key }),
    names: [...ofCallers, 'link', 'retry-after'],
  },
];

test('headers of one response do not leak into the next one', async () => {
  for (const { kind, send, names } of kinds) {
    for (const before of kinds) {
      await before.send();
      const { headers } = await send();
      expect([kind, before.kind, ...[...headers.keys()].sort()]).toEqual([
        kind,
        before.kind,
        ...[...names].sort(),
      ]);
    }
  }
});
