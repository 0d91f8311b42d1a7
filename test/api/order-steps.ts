/** What holds for each step of an order, for the test of each operation. */
import { describe, expect, test } from 'bun:test';
import type { OrderStatus } from '../../src/contract/orders.ts';
import { type OrderStep, orderStatuses, stepsOf } from '../../src/domain/order-status.ts';
import type { TestApp } from '../support/app.ts';
import { type Buyer, stepsTo } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

/** A step as the contract's picture has it. */
export interface Expected {
  readonly step: OrderStep;
  readonly from: readonly OrderStatus[];
  readonly to: OrderStatus;
  /** What it makes of the animal. */
  readonly pet: 'pending' | 'sold' | 'available';
}

/** The animal of an order in each status, if nobody changed it otherwise. */
const petOf = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  returned: 'available',
  cancelled: 'available',
} as const satisfies Record<OrderStatus, string>;

/** Tests of the step. */
export function stepTests(app: TestApp, buyer: Buyer, { step, from, to, pet }: Expected): void {
  const before = stepsTo[from[0] ?? 'placed'];
  const target = async () => `/orders/${(await buyer.order(...before)).id}/${step}`;

  describe('200', () => {
    test.each([...from])(`is the ${to} order, from %s, and its animal is ${pet}`, async (status) => {
      const order = await buyer.order(...stepsTo[status]);
      app.clock.advance(1.5);
      const answer = await buyer.step(order.id, step);
      expect(answer.status).toBe(200);
      const updatedAt = new Date(app.clock.now()).toISOString();
      expect(answer.json).toEqual({ ...order, status: to, updatedAt });
      expect(await buyer.shown(order.id)).toEqual({ ...order, status: to, updatedAt });
      expect(await buyer.petStatus(order.petId)).toBe(pet);
      expect(answer.headers.has('Location')).toBe(false);
    });

    test('has the ETag under which the order is read from then on', async () => {
      const order = await buyer.order(...before);
      const former = (await buyer.call('GET', `/orders/${order.id}`)).header('ETag');
      const answer = await buyer.step(order.id, step);
      expect(answer.header('ETag')).not.toBe(former);
      expect((await buyer.call('GET', `/orders/${order.id}`)).header('ETag')).toBe(answer.header('ETag'));
    });

    test.each([
      ['no body', {}],
      ['no body, but a media type', { headers: { 'Content-Type': 'application/json' } }],
      [
        'no body, and the media type curl gives to -d ""',
        { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      ],
      ['an empty text', { body: '' }],
      ['an empty object', { body: '{}' }],
      ['an empty object, spaced', { body: ' {\n} ' }],
    ])('with %s', async (_, options) => {
      expect((await buyer.call('POST', await target(), options)).status).toBe(200);
    });

    test('never states a time before the last one, though the date was set back', async () => {
      const order = await buyer.order(...before);
      app.clock.step(-3_600);
      expect((await buyer.step(order.id, step)).json).toMatchObject({ updatedAt: order.updatedAt });
      app.clock.step(3_600);
    });
  });

  describe('409 order_transition_not_allowed', () => {
    const refusing = orderStatuses.filter((status) => !from.includes(status));
    test.each(refusing)('from %s, naming it and the steps it has, and nothing changes', async (status) => {
      const order = await buyer.order(...stepsTo[status]);
      app.clock.advance(1);
      const answer = await buyer.step(order.id, step);
      expect(answer.error).toMatchObject({ status: 409, code: 'order_transition_not_allowed' });
      for (const word of [status, step, ...stepsOf(status)]) expect(answer.error.message).toContain(word);
      expect(answer.headers.has('Retry-After')).toBe(false);
      expect(await buyer.shown(order.id)).toEqual(order);
      expect(await buyer.petStatus(order.petId)).toBe(petOf[status]);
    });

    test('the second time: of many at once exactly one is done', async () => {
      const { id } = await buyer.order(...before);
      const answers = await Promise.all(Array.from({ length: 8 }, () => buyer.step(id, step)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
    });
  });

  describe('404 order_not_found', () => {
    test.each([
      '0',
      '-1',
      '999999',
      '9223372036854775807',
      '9223372036854775808',
      '01',
      '1.0',
      '1e0',
      'x',
      '%20',
      '+1',
    ])('for %s', async (orderId) => {
      const answer = await buyer.call('POST', `/orders/${orderId}/${step}`);
      expect(answer.error).toMatchObject({ status: 404, code: 'order_not_found' });
    });
  });

  describe('a request that is wrong', () => {
    test.each([
      ['{"x":1}', 'invalid_body', ['body:x']],
      ['{"x":1,"status":"placed"}', 'invalid_body', ['body:x', 'body:status']],
      ['{"x":1,"x":2}', 'invalid_body', ['body:x']],
      ['[]', 'invalid_body', ['body:']],
      ['null', 'invalid_body', ['body:']],
      ['1.5', 'invalid_body', ['body:']],
      ['{', 'invalid_json', []],
      [' ', 'invalid_json', []],
    ])('400 for the body %s', async (body, code, mistakes) => {
      const answer = await buyer.call('POST', await target(), { body });
      expect(answer.error).toMatchObject({ status: 400, code });
      expect(faulty(answer)).toEqual([...mistakes]);
    });

    test.each([null, 'text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json'])(
      '415 for a body of the type %s',
      async (type) => {
        const answer = await buyer.call('POST', await target(), { body: '{}', type });
        expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      },
    );

    test('413 for a body that is too large, whatever it says', async () => {
      const answer = await buyer.call('POST', await target(), { body: `{}${' '.repeat(16_383)}` });
      expect(answer.error).toMatchObject({ status: 413, code: 'body_too_large' });
    });

    test('405 with Allow for every other method', async () => {
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await buyer.call(method, await target());
        expect([answer.status, answer.header('Allow')]).toEqual([405, 'POST']);
      }
    });

    test('none of them changes the order', async () => {
      const order = await buyer.order(...before);
      const at = `/orders/${order.id}/${step}`;
      await buyer.call('POST', at, { body: '{"x":1}' });
      await buyer.call('POST', `${at}?force=1`);
      await buyer.call('POST', at, { headers: { 'If-Match': '"other"' } });
      await buyer.call('POST', at, { headers: { 'If-Match': 'bare' } });
      await buyer.call('POST', at, { headers: { 'Idempotency-Key': 'two words' } });
      expect(await buyer.shown(order.id)).toEqual(order);
    });
  });
}
