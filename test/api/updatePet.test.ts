import { afterAll, describe, expect, test } from 'bun:test';
import type { PetStatus } from '../../src/contract/pets.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import type { Answer, CallOptions } from '../support/call.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

/** A new animal: its path, and its JSON with another status, name or category. */
async function added(status: PetStatus = 'available') {
  const { json } = await app.call('POST', '/pets', { body: newPet('Ozzy', '7', status) });
  const { id } = json as { id: bigint };
  const text = (name = 'Ozzy', categoryId = '7', as: string = status) =>
    `{"id":${id},"name":"${name}","categoryId":${categoryId},"status":"${as}"}`;
  return { id, path: `/pets/${id}`, text };
}

const patch = (path: string, body: string, more: CallOptions = {}): Promise<Answer> =>
  app.call('PATCH', path, { body, ...more });

describe('200', () => {
  test('is the animal with what the body has changed, and nothing else', async () => {
    const { path, text } = await added();
    expect((await patch(path, '{"name":"Maple"}')).text).toBe(text('Maple'));
    expect((await patch(path, '{"categoryId":-9223372036854775808}')).text).toBe(
      text('Maple', '-9223372036854775808'),
    );
    expect((await patch(path, '{"status":"sold","name":"Ozzy","categoryId":9223372036854775807}')).text).toBe(
      text('Ozzy', '9223372036854775807', 'sold'),
    );
  });

  test('is what every read shows from then on, with the same ETag', async () => {
    const { id, path } = await added();
    await app.call('GET', `/pets?id=${id}`);
    const changed = await patch(path, '{"name":"Maple"}');
    const read = await app.call('GET', path);
    expect([read.text, read.header('ETag')]).toEqual([changed.text, changed.header('ETag')]);
    expect((await app.call('GET', `/pets?id=${id}`)).text).toBe(`[${changed.text}]`);
  });

  test('for an empty object and for what is so already, without a change', async () => {
    const { path, text } = await added('sold');
    const { headers } = await app.call('GET', path);
    for (const body of ['{}', '{"status":"sold"}', '{"name":"Ozzy","categoryId":7.0,"status":"sold"}']) {
      const answer = await patch(path, body);
      expect([answer.status, answer.text]).toEqual([200, text()]);
      expect(answer.header('ETag')).toBe(headers.get('ETag') ?? '');
    }
  });

  test.each([
    'application/json',
    'application/merge-patch+json',
    'Application/Merge-Patch+JSON; charset=utf-8',
  ])('takes a body as %s', async (type) => {
    const { path, text } = await added();
    expect((await patch(path, '{"name":"Maple"}', { type })).text).toBe(text('Maple'));
  });
});

describe('which status may follow which', () => {
  const forbidden = [['sold', 'pending']];
  const pairs = petStatuses.flatMap((from) => petStatuses.map((to) => [from, to] as const));

  test.each(pairs)('%s to %s', async (from, to) => {
    const { path, text } = await added(from);
    const answer = await patch(path, `{"status":"${to}"}`);
    if (!forbidden.some(([one, other]) => one === from && other === to)) {
      expect([answer.status, answer.text]).toEqual([200, text('Ozzy', '7', to)]);
      return;
    }
    expect(answer.error).toMatchObject({ status: 409, code: 'status_transition_not_allowed' });
    expect(answer.error.message).toContain(`"${from}"`);
    expect(answer.error.message).toContain('can become "available"');
    expect((await app.call('GET', path)).text).toBe(text());
  });

  test('a forbidden one changes nothing else of the same body', async () => {
    const { path, text } = await added('sold');
    const answer = await patch(path, '{"name":"Maple","status":"pending"}');
    expect(answer.error.code).toBe('status_transition_not_allowed');
    expect((await app.call('GET', path)).text).toBe(text());
  });
});

describe('409 pet_reserved', () => {
  const order = async (id: bigint) =>
    ((await app.call('POST', '/orders', { body: `{"petId":${id}}` })).json as { id: bigint }).id;

  test('while an order holds the animal, naming the order; name and category can be changed', async () => {
    const { id, path, text } = await added();
    const orderId = await order(id);
    for (const status of ['available', 'sold']) {
      const answer = await patch(path, `{"status":"${status}"}`);
      expect(answer.error).toMatchObject({ status: 409, code: 'pet_reserved' });
      expect(answer.error.message).toContain(`order ${orderId}`);
    }
    await app.call('POST', `/orders/${orderId}/approve`);
    expect((await patch(path, '{"status":"sold"}')).error.code).toBe('pet_reserved');
    const renamed = await patch(path, '{"name":"Maple","categoryId":8,"status":"pending"}');
    expect([renamed.status, renamed.text]).toEqual([200, text('Maple', '8', 'pending')]);
  });

  test.each([['cancel'], ['approve', 'deliver']])('no more after the steps %s %s', async (...steps) => {
    const { id, path } = await added();
    const orderId = await order(id);
    for (const step of steps.filter((one) => typeof one === 'string')) {
      expect((await app.call('POST', `/orders/${orderId}/${step}`)).status).toBe(200);
    }
    const { status } = (await app.call('GET', path)).json as { status: PetStatus };
    const to = status === 'sold' ? 'available' : 'sold';
    expect((await patch(path, `{"status":"${to}"}`)).status).toBe(200);
  });
});

describe('400 invalid_body', () => {
  test.each([
    ['{"name":null}', ['name']],
    ['{"categoryId":null,"status":null}', ['categoryId', 'status']],
    ['{"name":"","colour":"red","status":"lost"}', ['colour', 'name', 'status']],
    ['{"categoryId":"7"}', ['categoryId']],
    ['{"name":"a","name":"b"}', ['name']],
    ['null', ['']],
    ['"sold"', ['']],
  ])('for %s, naming every mistake, and nothing is changed', async (body, names) => {
    const { path, text } = await added();
    const answer = await patch(path, body);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer).sort()).toEqual(names.map((name) => `body:${name}`));
    expect((await app.call('GET', path)).text).toBe(text());
  });

  test('without a body', async () => {
    const { path } = await added();
    for (const options of [{}, { body: '' }]) {
      expect((await app.call('PATCH', path, options)).error.code).toBe('invalid_body');
    }
  });
});

describe('415 unsupported_media_type', () => {
  test.each(['text/plain', 'application/json-patch+json', 'application/json; charset=latin1'])(
    'for %s, with Accept-Patch',
    async (type) => {
      const { path } = await added();
      const answer = await patch(path, '{}', { type });
      expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      expect(answer.header('Accept-Patch')).toBe('application/merge-patch+json, application/json');
    },
  );
});

test.each(['999999999', '0', 'x', '9223372036854775808'])(
  '404 pet_not_found for %s, before the preconditions',
  async (id) => {
    for (const headers of [{}, { 'If-Match': '"other"' }] as Record<string, string>[]) {
      expect((await patch(`/pets/${id}`, '{}', { headers })).error.code).toBe('pet_not_found');
    }
  },
);
