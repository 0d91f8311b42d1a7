import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'approve', from: ['placed'], to: 'approved' });

test('an approved order holds its animal, as a placed one does', async () => {
  for (const steps of [[], ['approve']] as const) {
    const { id, petId } = await buyer.order(...steps);
    const changed = await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
    const removed = await buyer.call('DELETE', `/pets/${petId}`);
    for (const { error } of [changed, removed]) {
      expect(error).toMatchObject({ status: 409, code: 'pet_reserved' });
      expect(error.message).toContain(`order ${id}`);
    }
    expect((await buyer.place(petId)).error.code).toBe('pet_not_available');
  }
});

// One schema for all steps: what holds for this one holds for the others.
describe('the optional body of a step', () => {
  test.each([
    ['is absent', {}],
    ['is absent, with a media type', { headers: { 'Content-Type': 'application/json' } }],
    [
      'is absent, with the media type of curl -d ""',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    ],
    ['is an empty text', { body: '' }],
    ['is an empty object', { body: '{}' }],
    ['is an empty object with white space', { body: ' {\n} ' }],
  ])('%s: 200', async (_, options) => {
    const { id } = await buyer.order();
    expect((await buyer.step(id, 'approve', options)).status).toBe(200);
  });

  test.each([
    ['{"x":1,"status":"placed"}', 'invalid_body', ['body:x', 'body:status']],
    ['{"x":1,"x":2}', 'invalid_body', ['body:x']],
    ['[]', 'invalid_body', ['body:']],
    ['null', 'invalid_body', ['body:']],
    ['1.5', 'invalid_body', ['body:']],
    ['{', 'invalid_json', []],
    [' ', 'invalid_json', []],
  ])('%s: 400 %s', async (body, code, mistakes) => {
    const answer = await buyer.step((await buyer.order()).id, 'approve', { body });
    expect(answer.error).toMatchObject({ status: 400, code });
    expect(faulty(answer)).toEqual([...mistakes]);
  });

  test.each([null, 'text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json'])(
    'of the type %s: 415',
    async (type) => {
      const answer = await buyer.step((await buyer.order()).id, 'approve', { body: '{}', type });
      expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    },
  );
});
