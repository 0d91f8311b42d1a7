import { expect } from 'bun:test';
import { type EventRepresentation, eventJson } from '../../src/contract/representations.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

const at = 1_790_000_000_000;
const write = { params: {}, preconditions: {}, now: at };
const pet = (petId: bigint) => ({ ...write, params: { petId } });
const order = (orderId: bigint) => ({ ...write, params: { orderId } });
const category = (categoryId: bigint, name: string) => ({ ...write, params: { categoryId }, body: { name } });

const all = async ({ events }: Pick<Storage, 'events'>) => events.list(0n, 1_000);
const typesOf = (events: readonly EventRepresentation[]) => events.map(({ type }) => type);

/** Adds an event, then fails if requested. */
const noting = {
  note: {
    writes: [],
    run: async (
      { events }: Transaction,
      { data, fails }: { readonly data: string; readonly fails: boolean },
    ) => {
      events.add({ type: 'pet.updated', data, createdAt: at });
      if (fails) throw new Error('undone');
    },
  },
} as const satisfies Units;

export function eventsConform(check: StoreTest): void {
  check(
    'every change has one event, which contains the resource after the change, or before its deletion',
    async ({ store }) => {
      await store.write('createPet', { now: at, body: newPet('"Ozzy" \u2028 猫') });
      await store.write('putCategory', category(-1n, 'Dogs'));
      await store.write('putCategory', category(-1n, 'Cats'));
      await store.write('placeOrder', { ...write, body: { petId: 1n, reference: undefined } });
      await store.write('approveOrder', order(1n));
      await store.write('deliverOrder', order(1n));
      await store.write('deletePet', pet(1n));
      await store.write('deleteCategory', { ...write, params: { categoryId: -1n } });
      const events = await all(store);
      expect(typesOf(events)).toEqual([
        ...(['pet.created', 'category.created', 'category.updated', 'pet.updated', 'order.placed'] as const),
        ...(['order.approved', 'pet.updated', 'order.delivered', 'pet.deleted', 'category.deleted'] as const),
      ]);
      const time = '2026-09-21T14:13:20.000Z';
      const sold = '{"id":1,"name":"\\"Ozzy\\" \u2028 猫","categoryId":1,"status":"sold"}';
      expect(events.slice(6).map(eventJson)).toEqual([
        `{"id":7,"type":"pet.updated","timestamp":"${time}","data":${sold}}`,
        `{"id":8,"type":"order.delivered","timestamp":"${time}","data":{"id":1,"petId":1,"status":"delivered","createdAt":"${time}","updatedAt":"${time}"}}`,
        `{"id":9,"type":"pet.deleted","timestamp":"${time}","data":${sold}}`,
        `{"id":10,"type":"category.deleted","timestamp":"${time}","data":{"id":-1,"name":"Cats"}}`,
      ]);
    },
  );

  check('a request that changes nothing or is rejected creates no event', async ({ store }) => {
    const once = { accountId: 1, key: 'key', request: 'request' };
    for (let times = 0; times < 2; times++) {
      await store.write('createPetOnce', { input: { ...write, body: newPet('Ozzy') }, once, at });
      await store.write('putCategory', category(1n, 'Dogs'));
    }
    await store.write('updatePet', { ...pet(1n), body: {} });
    await store.write('updatePet', { ...pet(1n), body: { name: 'Ozzy' } });
    const refused = [store.write('deletePet', pet(9n)), store.write('cancelOrder', order(1n))];
    for (const { status } of await Promise.allSettled(refused)) expect(status).toBe('rejected');
    expect(typesOf(await all(store))).toEqual(['pet.created', 'category.created']);
  });

  check('each group of imported animals has one event, with their range of ids', async ({ store }) => {
    const pets = ['one', 'two', 'three'].map((name) => newPet(name));
    await store.write('commitImport', { now: at, pets });
    await store.write('commitImport', { now: at, pets: [] });
    const [event, ...others] = await all(store);
    expect(event).toMatchObject({ type: 'pets.imported', data: '{"count":3,"firstId":1,"lastId":3}' });
    expect(others).toEqual([]);
  });

  check('a unit of work that is rolled back leaves no event and no gap', async ({ besideWith, store }) => {
    const beside = await besideWith(noting);
    const fates = [false, true, false, true, true, false];
    const done = fates.map((fails, index) => beside.write('note', { data: `{"id":${index}}`, fails }));
    const ended = await Promise.allSettled(done);
    expect(ended.map(({ status }) => status === 'rejected')).toEqual(fates);
    const events = await all(store);
    expect(events.map(({ id, data }) => `${id} ${data}`)).toEqual(['1 {"id":0}', '2 {"id":2}', '3 {"id":5}']);
  });

  check(
    'during concurrent writes, readers receive every event exactly once, in order and without gaps',
    async ({ store, beside }) => {
      const writers = [store, await beside(), await beside()];
      const count = 60;
      const written = writers.map(async (writer, index) => {
        for (let number = 0; number < count; number++)
          await writer.write('putCategory', category(BigInt(index * count + number), 'name'));
      });
      const read = async (reader: Pick<Storage, 'events'>) => {
        const seen: EventRepresentation[] = [];
        while (seen.length < writers.length * count) {
          seen.push(...(await reader.events.list(BigInt(seen.length), 7)));
          await new Promise((resolve) => setImmediate(resolve));
        }
        return seen;
      };
      const [seen = [], also] = await Promise.all([read(store), read(await beside()), ...written]);
      expect(seen.map(({ id }) => Number(id))).toEqual(seen.map((_, index) => index + 1));
      expect(also).toEqual(seen);
      // The events of each writer keep their order.
      const ids = seen.map(({ data }) => Number(/^\{"id":(\d+)/.exec(data)?.[1]));
      for (const index of writers.keys()) {
        const own = ids.filter((id) => Math.floor(id / count) === index);
        expect(own).toEqual(Array.from({ length: count }, (_, number) => index * count + number));
      }
    },
  );

  check('recent events are listed newest first, and the bounds cover all events', async ({ store }) => {
    expect(await store.events.bounds()).toEqual({ oldest: 1n, last: 0n });
    for (const name of ['1', '2', '3']) await store.write('createPet', { now: at, body: newPet(name) });
    expect((await store.events.newest(2)).map(({ id }) => id)).toEqual([3n, 2n]);
    expect(await store.events.bounds()).toEqual({ oldest: 1n, last: 3n });
  });
}
