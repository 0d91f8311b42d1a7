import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'approve', from: ['placed'], to: 'approved', pet: 'pending' });

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
    expect(await buyer.petStatus(petId)).toBe('pending');
  }
});
