/** The ids of rows that a group adds on PostgreSQL, which are assigned when the group is stored. */
import { expect, test } from 'bun:test';
import type { Pet } from '../../src/contract/representations.ts';
import { retentionMs } from '../../src/operations/changes/idempotency.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { now, openCatalogue } from '../storage/catalogue-kit.ts';
import { newPet } from '../storage/samples.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';

const preconditions = {};

const orderFor = (petId: bigint) => ({ body: { petId }, now });
const onceFor = (key: string) => ({ accountId: 1, key, request: 'r' });

await describeWithServers('the ids of added rows on PostgreSQL', ({ makeSchema }) => {
  const opened = <All extends Units>(registry: All) => openCatalogue(makeSchema, registry, 1);

  test('results, events, stored responses and audit entries contain the final ids', async () => {
    await using store = await opened({});
    const [one = 0n, two = 0n] = await store.add('Rex', 'Max');
    const audited = { unit: 'createPet', input: { body: newPet('Ida'), now }, actor: 'operator:1', at: now };
    const [order, kept, pet] = await Promise.all([
      store.first.write('placeOrder', orderFor(one) as never),
      store.first.write('once', {
        operationId: 'placeOrder',
        input: orderFor(two),
        once: onceFor('k'),
        at: now,
      } as never),
      store.first.write('audited', audited as never),
    ]);
    const orders = await store.reads.orders.list();
    expect(order).toEqual(orders.find(({ petId }) => petId === one) as never);
    const second = orders.find(({ petId }) => petId === two);
    expect(kept).toMatchObject({ location: `/orders/${second?.id}` });
    expect((kept as unknown as { body: string }).body).toStartWith(`{"id":${second?.id},`);
    const { id } = pet.outcome as Pet;
    expect(await store.reads.pets.find(id)).toEqual({ id, ...newPet('Ida') });
    const [entry] = await store.session`SELECT object, before, after FROM audit`;
    expect(entry).toMatchObject({ object: `pet:${id}`, before: null });
    expect(JSON.parse(entry.after)).toMatchObject({ id: Number(id) });
    const events = await store.reads.events.list(0n, 100);
    const placed = events
      .filter(({ type }) => type === 'order.placed')
      .map(({ data }) => JSON.parse(data).id);
    expect(placed.toSorted()).toEqual(orders.map((each) => Number(each.id)).toSorted());
    const replayed = await store.first.write('once', {
      operationId: 'placeOrder',
      input: orderFor(two),
      once: onceFor('k'),
      at: now,
    } as never);
    const { status, body, location } = kept as unknown as { status: number; body: string; location: string };
    expect(replayed).toMatchObject({ status, body, location, isReplayed: true });
  });

  test('a response that replaces an expired one contains the final id', async () => {
    await using store = await opened({});
    const [one = 0n, two = 0n] = await store.add('Rex', 'Max');
    const order = (petId: bigint, at: number) =>
      store.first.write('once', {
        operationId: 'placeOrder',
        input: { ...orderFor(petId), now: at },
        once: onceFor('k'),
        at,
      } as never);
    await order(one, now);
    const expiredAt = now + retentionMs + 1;
    const next = (await order(two, expiredAt)) as unknown as object;
    expect(next).toMatchObject({ location: '/orders/2', isReplayed: false });
    expect(await order(two, expiredAt)).toEqual({ ...next, isReplayed: true } as never);
  });

  test('a unit of work that would store the id of an added row in the text of another row fails without affecting other units', async () => {
    const misuse = {
      writes: ['pets', 'orders', 'categories'],
      run: async ({ orders, categories }: Transaction, petId: bigint) => {
        const placed = { petId, status: 'placed', createdAt: now, updatedAt: now } as const;
        const { id } = await orders.add(placed);
        await categories.put({ id: 1n, name: `for order ${id}` });
      },
    } as const;
    await using store = await opened({ misuse });
    const [one = 0n, two = 0n] = await store.add('Rex', 'Max');
    const category = { params: { categoryId: 1n }, preconditions, body: { name: 'Dogs' }, now };
    await store.first.write('putCategory', category as never);
    const [misused, ordered] = await Promise.allSettled([
      store.first.write('misuse', one as never),
      store.first.write('placeOrder', orderFor(two) as never),
    ]);
    expect(misused).toMatchObject({ reason: { message: expect.stringContaining('id of a row') } });
    expect(ordered.status).toBe('fulfilled');
    expect(await store.reads.categories.list()).toEqual([{ id: 1n, name: 'Dogs' }]);
    expect((await store.reads.orders.list()).map(({ petId }) => petId)).toEqual([two]);
  });
});
