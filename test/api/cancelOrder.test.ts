import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'cancel', from: ['placed', 'approved'], to: 'cancelled' });

test('a cancelled order does not hold its animal: it can be changed, ordered and removed', async () => {
  const { id, petId } = await buyer.order('approve', 'cancel');
  expect((await buyer.place(petId)).status).toBe(201);
  expect((await buyer.step(id, 'cancel')).error.code).toBe('order_transition_not_allowed');
  expect(await buyer.petStatus(petId)).toBe('pending');
});

test('of a cancellation and a delivery at once exactly one is done, and the animal goes with it', async () => {
  for (let round = 0; round < 10; round++) {
    const { id, petId } = await buyer.order('approve');
    const [cancelled, delivered] = await Promise.all([buyer.step(id, 'cancel'), buyer.step(id, 'deliver')]);
    expect([cancelled.status, delivered.status].sort()).toEqual([200, 409]);
    expect(await buyer.petStatus(petId)).toBe(cancelled.status === 200 ? 'available' : 'sold');
  }
});
