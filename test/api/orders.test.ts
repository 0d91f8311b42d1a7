/** Orders beyond what the random walk of `test/storage/every-operation.test.ts` and the table of mistakes prove. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

const rounds = 10;

describe('concurrent requests', () => {
  test('of many orders of one animal one gets 201, the others learn that it is pending', async () => {
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

  test('of an order and a sale over the counter one succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const petId = await buyer.addPet();
      const sell = buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"sold"}' });
      const [ordered, sold] = await Promise.all([buyer.place(petId), sell]);
      expect(['200,409', '201,409']).toContain(String([ordered.status, sold.status].sort()));
      expect(await buyer.petStatus(petId)).toBe(ordered.status === 201 ? 'pending' : 'sold');
    }
  });

  test('of an order and the removal of the animal one succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const petId = await buyer.addPet();
      const [order, removal] = await Promise.all([
        buyer.place(petId),
        buyer.call('DELETE', `/pets/${petId}`),
      ]);
      expect(['201,409', '400,204']).toContain(String([order.status, removal.status]));
    }
  });

  test('of a cancellation and a delivery one is done, and the animal follows it', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, petId } = await buyer.order('approve');
      const [cancelled, delivered] = await Promise.all([buyer.step(id, 'cancel'), buyer.step(id, 'deliver')]);
      expect([cancelled.status, delivered.status].sort()).toEqual([200, 409]);
      expect(await buyer.petStatus(petId)).toBe(cancelled.status === 200 ? 'available' : 'sold');
    }
  });
});

test('a change never has a time before the last one, even after the date was set back', async () => {
  const order = await buyer.order();
  app.clock.step(-3_600);
  expect((await buyer.step(order.id, 'approve')).json).toMatchObject({ updatedAt: order.updatedAt });
  app.clock.step(3_600);
});

test('the refusal of a step names the one step there is, several, or none', async () => {
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

// One schema for all steps: what holds for this one holds for the others.
describe('the optional body of a step', () => {
  test.each([
    ['is absent, with a media type', { headers: { 'Content-Type': 'application/json' } }],
    [
      'is absent, with the media type of curl -d ""',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    ],
    ['is an empty text', { body: '' }],
    ['is an empty object with white space', { body: ' {\n} ' }],
  ])('%s: 200', async (_, options) => {
    const { id } = await buyer.order();
    expect((await buyer.step(id, 'approve', options)).status).toBe(200);
  });

  test('white space alone is invalid_json', async () => {
    const answer = await buyer.step((await buyer.order()).id, 'approve', { body: ' ' });
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_json', []]);
  });
});
