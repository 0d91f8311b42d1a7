import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'deliver', from: ['approved'], to: 'delivered', pet: 'sold' });

test('a delivered order does not hold its animal: it can be brought back over the counter, or removed', async () => {
  const { id, petId } = await buyer.order('approve', 'deliver');
  const back = await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
  expect(back.status).toBe(200);
  expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
  expect(await buyer.shown(id)).toMatchObject({ petId, status: 'delivered' });
});
