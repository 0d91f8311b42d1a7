import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'return', from: ['delivered'], to: 'returned' });

describe('an animal that is not sold any more', () => {
  test('stays available, if it was brought back over the counter', async () => {
    const { id, petId } = await buyer.order('approve', 'deliver');
    await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
    expect((await buyer.step(id, 'return')).json).toMatchObject({ status: 'returned' });
    expect(await buyer.petStatus(petId)).toBe('available');
  });

  test('stays pending, if another order holds it meanwhile, and that order goes on', async () => {
    const { id, petId } = await buyer.order('approve', 'deliver');
    await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
    const other = (await buyer.place(petId)).json as { id: bigint };
    expect((await buyer.step(id, 'return')).json).toMatchObject({ status: 'returned' });
    expect(await buyer.petStatus(petId)).toBe('pending');
    expect((await buyer.step(other.id, 'approve')).status).toBe(200);
    expect((await buyer.step(other.id, 'deliver')).status).toBe(200);
    expect(await buyer.petStatus(petId)).toBe('sold');
  });

  test('is not there any more: the order is returned all the same, and stays readable', async () => {
    const { id, petId } = await buyer.order('approve', 'deliver');
    expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
    expect((await buyer.step(id, 'return')).json).toMatchObject({ petId, status: 'returned' });
    expect(await buyer.petStatus(petId)).toBeUndefined();
    expect(await buyer.shown(id)).toMatchObject({ petId, status: 'returned' });
    expect((await buyer.call('GET', `/orders?petId=${petId}`)).json).toHaveLength(1);
  });
});
