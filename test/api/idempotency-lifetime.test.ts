/** How long the answer to a POST with an `Idempotency-Key` is kept. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { expectReplay, isReplayed, under } from '../support/idempotency.ts';
import { buyerOf, type ShownOrder } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';

/** Each test advances the clock and uses a separate account. */
const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

describe('an answer is kept for 24 hours', () => {
  test.each([
    [86_400, [null, 'true', 'true']],
    [86_400.001, [null, null, 'true']],
  ])('to the millisecond: %d s later', async (seconds, expected) => {
    const { call } = await buyerOf(app);
    const add = async () => isReplayed(await call('POST', '/pets', under('same', { body: newPet() })));
    const first = await add();
    app.clock.advance(seconds);
    expect([first, await add(), await add()]).toEqual(expected);
  });

  test('through restarts', async () => {
    const own = await buyerOf(app);
    const petId = await own.addPet();
    const first = await own.place(petId, under('same'));
    await app.restart();
    expectReplay(await own.place(petId, under('same')), first);
    await own.step((first.json as ShownOrder).id, 'cancel');
    await app.restart();
    expectReplay(await own.place(petId, under('same')), first);
    expect(await own.petStatus(petId)).toBe('available');
  });
});
