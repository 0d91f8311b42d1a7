import { afterAll, describe, expect, test } from 'bun:test';
import { orderStatuses } from '../../src/domain/order-status.ts';
import { startTestApp } from '../support/app.ts';
import { buyerOf, type ShownOrder, stepsTo } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
const order = await buyer.order();
afterAll(() => app[Symbol.asyncDispose]());

describe('200', () => {
  test.each([...orderStatuses])('shows an order that is %s as its last change did', async (status) => {
    const changed = await buyer.order(...stepsTo[status]);
    expect(changed.status).toBe(status);
    expect(await buyer.shown(changed.id)).toEqual(changed);
  });

  test('shows what another process changed with the next request', async () => {
    const { id } = await buyer.order();
    expect(await buyer.shown(id)).toMatchObject({ status: 'placed' });
    await app.operator.storage.write('cancelOrder', {
      params: { orderId: id },
      preconditions: {},
      now: app.clock.now(),
    });
    expect(await buyer.shown(id)).toMatchObject({ status: 'cancelled' });
  });

  test('stays when the animal is removed, and its petId with it', async () => {
    const { id, petId } = await buyer.order('cancel');
    const before = await buyer.shown(id);
    expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
    expect(await buyer.shown(id)).toEqual(before);
    await app.restart();
    expect(await buyer.shown(id)).toEqual(before);
  });

  test('takes an id that is percent-encoded', async () => {
    const encoded = [...String(order.id)].map((digit) => `%${digit.charCodeAt(0).toString(16)}`).join('');
    expect(((await buyer.call('GET', `/orders/${encoded}`)).json as ShownOrder).id).toBe(order.id);
  });
});

describe('404 order_not_found', () => {
  test.each([
    ...['0', '-1', '999999', '9223372036854775807', '9223372036854775808', '1'.repeat(1_000)],
    ...['01', '1.0', '+1', '%201', '0x1', 'x', '1,2', '١', '1%00', 'constructor'],
  ])('for %s', async (id) => {
    const answer = await buyer.call('GET', `/orders/${id}`);
    expect(answer.error).toMatchObject({ status: 404, code: 'order_not_found' });
  });
});

test('400 for an unknown parameter comes before 404', async () => {
  for (const id of [String(order.id), '999999', 'x']) {
    const answer = await buyer.call('GET', `/orders/${id}?verbose=1`);
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_parameter', ['query:verbose']]);
  }
});
