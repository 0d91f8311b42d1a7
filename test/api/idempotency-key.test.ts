/** `Idempotency-Key` of every operation that takes one: a request that is sent again is done once. */
import { afterAll, describe, expect, test } from 'bun:test';
import { allOperations, isRepeatable } from '../../src/contract/operations.ts';
import { startTestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';
import { faulty, newPet } from '../support/pets.ts';
import { sampleOf, send } from '../support/requests.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const withKey = (key: string) => ({ headers: { 'Idempotency-Key': key } });

/** What has to come back the same. */
const told = ({ status, text, headers }: Answer) => [
  status,
  text,
  headers.get('etag'),
  headers.get('location'),
];

describe.each(allOperations.filter(isRepeatable))('$operationId', (operation) => {
  test('the same request with the same key gets the same response, and is done once', async () => {
    const sample = await sampleOf(app, operation);
    const key = crypto.randomUUID();
    const first = await send(app, sample, withKey(key));
    expect(first.status).toBeLessThan(300);
    expect(first.headers.has('Idempotent-Replayed')).toBe(false);
    for (const again of [key, `"${key}"`]) {
      const answer = await send(app, sample, withKey(again));
      expect(told(answer)).toEqual(told(first));
      expect(answer.header('Idempotent-Replayed')).toBe('true');
    }
  });

  test('many at the same time are done once: one answer, or a 409 that says to retry', async () => {
    const sample = await sampleOf(app, operation);
    const key = crypto.randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(app, sample, withKey(key))));
    const done = answers.filter(({ status }) => status < 300);
    expect(new Set(done.map((answer) => JSON.stringify(told(answer)))).size).toBe(1);
    expect(done.filter(({ headers }) => !headers.has('Idempotent-Replayed'))).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status >= 300)) {
      expect([answer.error.code, answer.header('Retry-After')]).toEqual(['idempotency_key_in_use', '1']);
    }
  });

  test('422 idempotency_key_reused for another path with the same key', async () => {
    const [one, other] = [await sampleOf(app, operation), await sampleOf(app, operation)];
    const key = crypto.randomUUID();
    await send(app, one, withKey(key));
    const body = other.options.body === undefined ? '{}' : ` ${other.options.body}`;
    const answer = await send(app, other, { ...withKey(key), body });
    expect(answer.error).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect((await send(app, other, withKey(crypto.randomUUID()))).status).toBeLessThan(300);
  });

  test.each(['a b', 'é', '""', '"a', 'a"b', 'a'.repeat(256), `"${'a'.repeat(256)}"`, '\\'])(
    '400 invalid_parameter for a key of another form, and nothing is done: %s',
    async (key) => {
      const sample = await sampleOf(app, operation);
      const answer = await send(app, sample, withKey(key));
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['header:Idempotency-Key']);
      expect((await send(app, sample)).status).toBeLessThan(300);
    },
  );

  test('a refusal is not kept: the key may be used again', async () => {
    const sample = await sampleOf(app, operation);
    const key = crypto.randomUUID();
    const refused = await send(app, { ...sample, target: `${sample.target}?x=1` }, withKey(key));
    expect(refused.status).toBe(400);
    const answer = await send(app, sample, withKey(key));
    expect(answer.status).toBeLessThan(300);
    expect(answer.headers.has('Idempotent-Replayed')).toBe(false);
  });
});

test('is of the account: all its keys share it, and other accounts do not', async () => {
  const { account, key: first } = await app.tenant('pro');
  const { key: second } = await app.app.admin.keys.create(account.id, 'second');
  const { key: stranger } = await app.tenant('pro');
  const add = (key: string) => app.call('POST', '/pets', { key, body: newPet('Ozzy'), ...withKey('cart-7') });
  const original = await add(first);
  expect(told(await add(second))).toEqual(told(original));
  const other = await add(stranger);
  expect(other.status).toBe(201);
  expect(other.headers.has('Idempotent-Replayed')).toBe(false);
  expect(other.text).not.toBe(original.text);
});

test('is kept for 24 hours, over a restart', async () => {
  await using own = await startTestApp();
  const add = () => own.call('POST', '/pets', { body: newPet('Ozzy'), ...withKey('cart-8') });
  const original = await add();
  await own.restart();
  own.clock.advance(86_399);
  const repeated = await add();
  expect([told(repeated), repeated.header('Idempotent-Replayed')]).toEqual([told(original), 'true']);
  own.clock.advance(2);
  expect((await add()).headers.has('Idempotent-Replayed')).toBe(false);
});

test('an animal that was removed since is not added again: the answer is the first one', async () => {
  const add = () => app.call('POST', '/pets', { body: newPet('Ozzy'), ...withKey('cart-9') });
  const original = await add();
  await app.call('DELETE', original.header('Location').replace('/v1', ''));
  expect(told(await add())).toEqual(told(original));
});
