/** Tests of one step of an order, for the file of each operation. */
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
}

/** The status of the animal behind an order, unless something else changed it. */
const petOf = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  returned: 'available',
  cancelled: 'available',
} as const satisfies Record<OrderStatus, string>;

export function stepTests(app: TestApp, buyer: Buyer, { step, from, to }: Expected): void {
  const before = stepsTo[from[0] ?? 'placed'];

  describe(`${step}: 200`, () => {
    test.each([...from])(`moves an order from %s to ${to}, and its animal with it`, async (status) => {
      const order = await buyer.order(...stepsTo[status]);
      const former = await buyer.call('GET', `/orders/${order.id}`);
      app.clock.advance(1.5);
      const answer = await buyer.step(order.id, step);
      expect(answer.status).toBe(200);
      const updatedAt = new Date(app.clock.now()).toISOString();
      expect(answer.json).toEqual({ ...order, status: to, updatedAt });
      expect(answer.headers.has('Location')).toBe(false);
      const shown = await buyer.call('GET', `/orders/${order.id}`);
      expect([shown.text, shown.header('ETag')]).toEqual([answer.text, answer.header('ETag')]);
      expect(shown.header('ETag')).not.toBe(former.header('ETag'));
      expect(await buyer.petStatus(order.petId)).toBe(petOf[to]);
    });

    test('never states a time before the last one, even after the date was set back', async () => {
      const order = await buyer.order(...before);
      app.clock.step(-3_600);
      expect((await buyer.step(order.id, step)).json).toMatchObject({ updatedAt: order.updatedAt });
      app.clock.step(3_600);
    });
  });

  describe(`${step}: 409 order_transition_not_allowed`, () => {
    const refusing = orderStatuses.filter((status) => !from.includes(status));
    test.each(refusing)('from %s, naming it and its steps, and nothing changes', async (status) => {
      const order = await buyer.order(...stepsTo[status]);
      app.clock.advance(1);
      const answer = await buyer.step(order.id, step);
      expect(answer.error).toMatchObject({ status: 409, code: 'order_transition_not_allowed' });
      for (const word of [status, step, ...stepsOf(status)]) expect(answer.error.message).toContain(word);
      expect(answer.headers.has('Retry-After')).toBe(false);
      expect(await buyer.shown(order.id)).toEqual(order);
      expect(await buyer.petStatus(order.petId)).toBe(petOf[status]);
    });

    test('for all but one of many concurrent requests', async () => {
      const { id } = await buyer.order(...before);
      const answers = await Promise.all(Array.from({ length: 8 }, () => buyer.step(id, step)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
    });
  });

  test(`${step}: 404 order_not_found for an order that does not exist`, async () => {
    for (const id of ['0', '999999', '9223372036854775808', '01', 'x']) {
      const answer = await buyer.call('POST', `/orders/${id}/${step}`);
      expect(answer.error).toMatchObject({ status: 404, code: 'order_not_found' });
    }
  });

  test(`${step}: 400 invalid_body for any member, and the order is unchanged`, async () => {
    const order = await buyer.order(...before);
    const answer = await buyer.step(order.id, step, { body: '{"x":1}' });
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_body', ['body:x']]);
    expect(await buyer.shown(order.id)).toEqual(order);
  });
}
