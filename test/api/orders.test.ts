/**
 * Order behavior not covered by the random walk in `test/storage/every-operation.test.ts` or by
 * `every-mistake.test.ts`.
 */
import { describe, expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

const app = await startAppForFile();
const buyer = await buyerOf(app);

const rounds = 10;

describe('of concurrent requests', () => {
  test('to order the same animal, one gets 201 and the others get pet_not_available', async () => {
    const other = await buyerOf(app);
    const petId = await buyer.addPet();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? buyer : other).place(petId)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(11).fill(409)]);
    for (const { error } of answers.filter(({ status }) => status === 409)) {
      expect(error.code).toBe('pet_not_available');
      expect(error.message).toContain('"pending"');
    }
    expect((await buyer.call('GET', `/orders?petId=${petId}`)).json).toHaveLength(1);
  });

  test('to order and to sell the same animal, only one succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const petId = await buyer.addPet();
      const sell = buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"sold"}' });
      const [ordered, sold] = await Promise.all([buyer.place(petId), sell]);
      expect(['200,409', '201,409']).toContain(String([ordered.status, sold.status].sort()));
      expect(await buyer.petStatus(petId)).toBe(ordered.status === 201 ? 'pending' : 'sold');
    }
  });

  test('to order and to delete the same animal, only one succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const petId = await buyer.addPet();
      const [order, removal] = await Promise.all([
        buyer.place(petId),
        buyer.call('DELETE', `/pets/${petId}`),
      ]);
      expect(['201,409', '400,204']).toContain(String([order.status, removal.status]));
    }
  });

  test('to cancel and to deliver the same order, only one succeeds, and the status of the animal matches', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, petId } = await buyer.order('approve');
      const [cancelled, delivered] = await Promise.all([buyer.step(id, 'cancel'), buyer.step(id, 'deliver')]);
      expect([cancelled.status, delivered.status].sort()).toEqual([200, 409]);
      expect(await buyer.petStatus(petId)).toBe(cancelled.status === 200 ? 'available' : 'sold');
    }
  });
});

test('updatedAt never decreases, even if the clock is set back', async () => {
  const order = await buyer.order();
  app.clock.step(-3_600);
  expect((await buyer.step(order.id, 'approve')).json).toMatchObject({ updatedAt: order.updatedAt });
  app.clock.step(3_600);
});

test('the error for a transition that is not allowed lists the allowed transitions', async () => {
  const messageAfter = async (...steps: Parameters<typeof buyer.order>) => {
    const { id } = await buyer.order(...steps);
    const { json } = await buyer.step(id, steps.length === 0 ? 'deliver' : 'approve');
    return (json as { message: string }).message;
  };
  expect(await messageAfter()).toEndWith('cannot be delivered. Allowed: approve, cancel.');
  expect(await messageAfter('approve', 'deliver')).toEndWith('Allowed: return.');
  expect(await messageAfter('cancel')).toEndWith('Allowed: none.');
});

// All transitions share one schema, so one test is enough.
describe('the optional body of a transition', () => {
  test.each([
    ['absent, with a media type', { headers: { 'Content-Type': 'application/json' } }],
    [
      'absent, with the media type of curl -d ""',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    ],
    ['empty', { body: '' }],
    ['an empty object with whitespace', { body: ' {\n} ' }],
  ])('may be %s', async (_, options) => {
    const { id } = await buyer.order();
    expect((await buyer.step(id, 'approve', options)).status).toBe(200);
  });

  test('is rejected with invalid_json if it contains only whitespace', async () => {
    const answer = await buyer.step((await buyer.order()).id, 'approve', { body: ' ' });
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_json', []]);
  });
});
