/** Deliveries that another session has locked, or is leasing, on PostgreSQL. */
import { afterAll, describe, expect, test } from 'bun:test';
import type {
  DispatchResult,
  LeasedDelivery,
  LeaseRequest,
  SettledDelivery,
} from '../../src/domain/delivery.ts';
import { plans } from '../../src/domain/plan.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { now, openCatalogue } from '../storage/catalogue-kit.ts';
import { lockAwaited, lockers, outcomeOf } from '../storage/postgres-kit.ts';
import { testServers } from '../support/servers.ts';
import { leaseRequest } from '../support/webhooks.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const leasedUntil = now + 60_000;
const count = 3;

const addDeliveries = {
  writes: ['webhooks'],
  run: async ({ deliveries }: Transaction, webhookId: bigint) => {
    const pending = { status: 'pending', attempts: '[]', nextAttemptAt: now, createdAt: now } as const;
    for (let added = 1; added <= count; added++)
      await deliveries.add({ ...pending, webhookId, eventId: BigInt(added), type: 'pet.created' });
  },
} as const;

const caller = { accountId: 1, scopes: ['webhooks:write', 'pets:read', 'events:read'] } as const;

/** A store with a webhook that has due deliveries, with the ids 1, 2 and 3. */
async function openDeliveries() {
  const { makeSchema } = servers as NonNullable<typeof servers>;
  await using made = new AsyncDisposableStack();
  const store = made.use(await openCatalogue(makeSchema, { addDeliveries }, 1));
  const write = (name: string, input: unknown) => store.first.write(name as never, input as never);
  await write('createAccount', { name: 'reader', plan: 'free', quota: plans.free, createdAt: now });
  await write('createKey', {
    ...{ accountId: 1, name: 'reader', lastFour: 'aaaa', fingerprint: 'print', expiresAt: null },
    ...{ scopes: ['pets:read', 'events:read'], createdAt: now },
  });
  await write('createWebhook', {
    ...{ caller, endpoint: { mistake: undefined }, events: { oldest: 1n, last: 0n }, secret: 'sealed', now },
    body: { url: 'https://shop.example/' },
  });
  await write('addDeliveries', 1n);
  const dispatch = (
    room: number,
    settled: readonly SettledDelivery[] = [],
    more: Partial<LeaseRequest> = {},
  ) => {
    const lease = leaseRequest(now, { leasedUntil, room, ...more });
    return write('dispatchDeliveries', { settled, lease }) as Promise<DispatchResult>;
  };
  const redeliver = (deliveryId: bigint) =>
    write('redeliver', { params: { webhookId: 1n, deliveryId }, caller, now });
  const { session } = store;
  const rows = async () => [
    ...(await session`SELECT id, status, next_attempt_at, leased_until, finished_at FROM deliveries ORDER BY id`),
  ];
  const kept = made.move();
  return { session, dispatch, redeliver, rows, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function succeeded({ id, webhookId }: LeasedDelivery): SettledDelivery {
  const done = { status: 'succeeded', attempts: '[]', nextAttemptAt: null, finishedAt: now } as const;
  return { ...done, id, webhookId, leasedUntil };
}

const idsOf = (found: readonly { readonly id: bigint }[]) => found.map(({ id }) => id);

describe.skipIf(servers === undefined)('a delivery that another session has locked', () => {
  test('is not leased, and delays no other delivery of its webhook', async () => {
    await using store = await openDeliveries();
    await store.session`BEGIN`;
    await store.session`SELECT FROM deliveries WHERE id = 1 FOR UPDATE`;
    expect(idsOf((await store.dispatch(100)).deliveries)).toEqual([2n, 3n]);
    await store.session`COMMIT`;
    expect(
      idsOf(
        (await store.dispatch(100, [], { inFlight: [{ webhookId: 1n, accountId: 1, count: 1 }] })).deliveries,
      ),
    ).toEqual([1n]);
  });

  test('delays no outcomes of other deliveries, and its outcome is reported and can be stored later', async () => {
    await using store = await openDeliveries();
    const settled = (await store.dispatch(100)).deliveries.map(succeeded);
    const statuses = async () => (await store.rows()).map(({ status }) => status);
    await store.session`BEGIN`;
    await store.session`SELECT FROM deliveries WHERE id = 2 FOR UPDATE`;
    expect((await store.dispatch(0, settled)).locked).toEqual([2n]);
    expect(await statuses()).toEqual(['succeeded', 'pending', 'succeeded']);
    await store.session`COMMIT`;
    expect((await store.dispatch(0, settled)).locked).toEqual([]);
    expect(await statuses()).toEqual(['succeeded', 'succeeded', 'succeeded']);
  });

  test('is not changed by a request to send it again, which does not wait for the lock', async () => {
    await using store = await openDeliveries();
    await store.session`BEGIN`;
    await store.session`UPDATE deliveries SET leased_until = ${leasedUntil}, next_attempt_at = ${leasedUntil} WHERE id = 1`;
    await store.session`
      UPDATE deliveries SET status = 'succeeded', next_attempt_at = NULL, finished_at = ${now} WHERE id = 2`;
    await store.redeliver(1n);
    await store.redeliver(2n);
    await store.session`COMMIT`;
    const pending = { id: 3n, status: 'pending', next_attempt_at: BigInt(now), leased_until: null };
    expect(await store.rows()).toEqual([
      {
        ...{ id: 1n, status: 'pending', finished_at: null },
        ...{ next_attempt_at: BigInt(leasedUntil), leased_until: BigInt(leasedUntil) },
      },
      { id: 2n, status: 'succeeded', next_attempt_at: null, leased_until: null, finished_at: BigInt(now) },
      { ...pending, finished_at: null },
    ]);
  });
});

describe.skipIf(servers === undefined)('a round that creates deliveries', () => {
  test('locks no webhook while it waits for their counter, whose holder may wait for the webhook', async () => {
    await using store = await openDeliveries();
    const settled = (await store.dispatch(1)).deliveries.map(succeeded);
    await store.session`UPDATE counters SET last = 1 WHERE name = 'events'`;
    await store.session`INSERT INTO events (id, type, data, created_at) VALUES (1, 'pet.created', '{}', ${now})`;
    await store.session`BEGIN`;
    await store.session`SELECT FROM counters WHERE name = 'deliveries' FOR UPDATE`;
    const round = store.dispatch(0, settled);
    await lockAwaited(store.session);
    await store.session`SELECT FROM webhooks FOR UPDATE NOWAIT`;
    await store.session`SELECT FROM deliveries FOR UPDATE NOWAIT`;
    await store.session`COMMIT`;
    await round;
    expect((await store.rows()).length).toBe(count + 1);
  });

  test('fails as a whole if the wait for their counter is canceled', async () => {
    await using store = await openDeliveries();
    await store.session`UPDATE counters SET last = 1 WHERE name = 'events'`;
    await store.session`BEGIN`;
    await store.session`SELECT FROM counters WHERE name = 'deliveries' FOR UPDATE`;
    // An unhandled rejection of one of the statements would fail the test, and end the service.
    const outcome = outcomeOf(store.dispatch(0));
    await lockAwaited(store.session);
    for (const pid of await lockers(store.session, 'waiting'))
      await store.session`SELECT pg_cancel_backend(${pid})`;
    expect(await outcome).toBe('unavailable');
  });

  test('creates none if it has not locked their counter, because the event is newer, and continues at once', async () => {
    await using store = await openDeliveries();
    const settled = (await store.dispatch(1)).deliveries.map(succeeded);
    // Storing the outcome adds the event, after the round has examined whether to lock the counter.
    await store.session`
      CREATE FUNCTION add_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE counters SET last = 1 WHERE name = 'events';
        INSERT INTO events (id, type, data, created_at) VALUES (1, 'pet.created', '{}', 0);
        RETURN NULL;
      END $$`;
    await store.session`CREATE TRIGGER add_event AFTER UPDATE ON deliveries EXECUTE FUNCTION add_event()`;
    expect(await store.dispatch(0, settled)).toMatchObject({ isMore: true, isBehind: true });
    expect((await store.rows()).length).toBe(count);
    expect((await store.dispatch(0)).isBehind).toBe(false);
    expect((await store.rows()).length).toBe(count + 1);
  });
});
