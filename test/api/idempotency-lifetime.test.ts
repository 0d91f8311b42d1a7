/** How long the answer to a POST with an `Idempotency-Key` is kept. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { expectReplay, isReplayed, under } from '../support/idempotency.ts';
import { buyerOf, type ShownOrder } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

describe('an answer is kept for 24 hours', () => {
  /** Adds an animal with one key, lets time pass, and does it again. */
  async function afterwards(of: TestApp, seconds: number): Promise<(string | null)[]> {
    const own = await buyerOf(of);
    const add = async () => isReplayed(await own.call('POST', '/pets', under('same', { body: newPet() })));
    const first = await add();
    of.clock.advance(seconds);
    return [first, await add(), await add()];
  }

  test('to the millisecond: then it is done anew, and that is what is kept from then on', async () => {
    await using fresh = await startTestApp();
    expect(await afterwards(fresh, 86_400)).toEqual([null, 'true', 'true']);
    expect(await afterwards(fresh, 86_400.001)).toEqual([null, null, 'true']);
  });

  test('from the first answer on: replays do not prolong it', async () => {
    await using fresh = await startTestApp();
    const { call } = await buyerOf(fresh);
    const add = async () => isReplayed(await call('POST', '/pets', under('same', { body: newPet() })));
    const seen: (string | null)[] = [];
    for (let hours = 0; hours < 30; hours += 6) {
      seen.push(await add());
      fresh.clock.advance(6 * 3_600);
    }
    expect(seen).toEqual([null, 'true', 'true', 'true', 'true']);
    expect(await add()).toBeNull();
  });

  test('another request may have the key afterwards', async () => {
    await using fresh = await startTestApp();
    const { call } = await buyerOf(fresh);
    await call('POST', '/pets', under('same', { body: newPet('First') }));
    fresh.clock.advance(86_400.001);
    expect((await call('POST', '/pets', under('same', { body: newPet('Second') }))).status).toBe(201);
    expect((await call('POST', '/pets', under('same', { body: newPet('First') }))).status).toBe(422);
  });

  test('through restarts', async () => {
    await using fresh = await startTestApp();
    const own = await buyerOf(fresh);
    const petId = await own.addPet();
    const first = await own.place(petId, under('same'));
    await fresh.restart();
    expectReplay(await own.place(petId, under('same')), first);
    await own.step((first.json as ShownOrder).id, 'cancel');
    await fresh.restart();
    expectReplay(await own.place(petId, under('same')), first);
    expect(await own.petStatus(petId)).toBe('available');
  });
});
