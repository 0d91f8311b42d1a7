import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { stepTests } from './order-steps.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

stepTests(app, buyer, { step: 'deliver', from: ['approved'], to: 'delivered' });

test('a delivered order does not hold its animal: it can be brought back over the counter, or removed', async () => {
  const { id, petId } = await buyer.order('approve', 'deliver');
  const back = await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
  expect(back.status).toBe(200);
  expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
  expect(await buyer.shown(id)).toMatchObject({ petId, status: 'delivered' });
});

test('a refusal names the one step there is, several, or none', async () => {
  const messageAfter = async (...steps: Parameters<typeof buyer.order>) => {
    const { id } = await buyer.order(...steps);
    const { json } = await buyer.step(id, steps.length === 0 ? 'deliver' : 'approve');
    return (json as { message: string }).message;
  };
  expect(await messageAfter()).toEndWith(
    'does not have the step deliver. It has the steps approve and cancel.',
  );
  expect(await messageAfter('approve', 'deliver')).toEndWith('It has the step return.');
  expect(await messageAfter('cancel')).toEndWith('This status is final.');
});
