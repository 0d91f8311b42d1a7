/** Lifetime of the stored response to a POST with an `Idempotency-Key`. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';
import { expectReplay, isReplayed, under } from '../support/idempotency.ts';
import { buyerOf, type ShownOrder } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';

/** Each test advances the clock and creates a new account. */
const app = await startAppForFile();

describe('a response is stored for 24 hours', () => {
  test.each([
    [86_400, [null, 'true']],
    [86_400.001, [null, null]],
  ])('and not a millisecond longer (request repeated after %d s)', async (seconds, expected) => {
    // Requests that create animals run in a batch; requests that create orders run separately.
    for (const path of ['/pets', '/orders']) {
      const own = await buyerOf(app);
      const body = path === '/pets' ? newPet() : `{"petId":${await own.addPet()}}`;
      const send = () => own.call('POST', path, under('same', { body }));
      const first = await send();
      app.clock.advance(seconds);
      const again = await send();
      expect([isReplayed(first), isReplayed(again)]).toEqual(expected);
      expect(again.status).toBe(path === '/pets' || expected[1] ? 201 : 409);
    }
  });

  test.each([-25, 25])(
    'even while the clock is off by %d hours, and after it has been corrected',
    async (hours) => {
      for (const path of ['/pets', '/orders']) {
        const own = await buyerOf(app);
        const body = path === '/pets' ? newPet() : `{"petId":${await own.addPet()}}`;
        const send = async (key: string) => isReplayed(await own.call('POST', path, under(key, { body })));
        const other = newPet();
        await send('before');
        app.clock.step(hours * 3_600);
        const before = await send('before');
        const sendWhileOff = async () =>
          isReplayed(await own.call('POST', '/pets', under('while-off', { body: other })));
        await sendWhileOff();
        app.clock.step(-hours * 3_600);
        expect([before, await send('before'), await sendWhileOff()]).toEqual(['true', 'true', 'true']);
        app.clock.advance(86_401);
        expect(await sendWhileOff()).toBeNull();
      }
    },
  );

  test('across restarts', async () => {
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
