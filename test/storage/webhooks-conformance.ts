import { expect } from 'bun:test';
import { maxWebhooks } from '../../src/contract/bounds.ts';
import {
  type LeasedDelivery,
  type LeaseRequest,
  type LeaseResult,
  leaseLimits,
  maxHeldEvents,
  maxInFlight,
  maxPending,
  type SettledDelivery,
} from '../../src/domain/delivery.ts';
import type { DeliveryStatus } from '../../src/domain/delivery-status.ts';
import type { EventType } from '../../src/domain/event-type.ts';
import { plans } from '../../src/domain/plan.ts';
import type { Scope } from '../../src/domain/scope.ts';
import type { Store, UnitWriter } from '../../src/operations/units.ts';
import { deliveryBatch, maxRedeliveredAtOnce } from '../../src/storage/delivery-row.ts';
import type { SweepPosition, UnitOfWork } from '../../src/storage/transaction.ts';
import type { NewKey } from '../../src/tables/accounts.ts';
import { reschedule } from '../../src/webhooks/attempt.ts';
import { rejectionOf } from '../support/rejection.ts';
import { leaseRequest } from '../support/webhooks.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

const now = 1_800_000_000_001;
const ofAccount = (accountId: number) =>
  ({ accountId, scopes: ['webhooks:write', 'pets:read', 'events:read'] }) as const;

type Reader = Awaited<ReturnType<typeof addReader>>;

/** Adds an account with a key that may read animals. */
async function addReader({ write }: UnitWriter) {
  const { id: accountId } = await write('createAccount', {
    name: 'reader',
    plan: 'free',
    quota: plans.free,
    createdAt: now,
  });
  return { accountId, keyId: await addKey({ write }, accountId) };
}

/** Adds a key that may read animals, or has other properties. Returns its id. */
async function addKey({ write }: UnitWriter, accountId: number, also: Partial<NewKey> = {}): Promise<number> {
  const scopes: Scope[] = ['pets:read', 'events:read'];
  const key = { name: 'reader', lastFour: 'aaaa', createdAt: now, expiresAt: null, scopes };
  return (await write('createKey', { ...key, accountId, fingerprint: `print ${++lastPrint}`, ...also })).id;
}

let lastPrint = 0;

/** Creates a webhook, and its account unless that exists. */
async function create({ write, accounts }: Store, accountId = 1, body: object = {}) {
  if ((await accounts.find(accountId)) === undefined) await addReader({ write });
  const given = {
    caller: ofAccount(accountId),
    endpoint: { mistake: undefined },
    events: { oldest: 1n, last: 0n },
    secret: 'sealed',
    now,
  };
  return write('createWebhook', { ...given, body: { url: 'https://shop.example/', ...body } });
}

const leaseMs = 60_000;
const fourEvents = [1n, 2n, 3n, 4n];

const requestAt = (at: number, room: number) => leaseRequest(at, { leasedUntil: at + leaseMs, room });

const requests = (...all: readonly (readonly [bigint | undefined, number, number])[]) =>
  all.map(([webhookId = 0n, accountId, count]) => ({ webhookId, accountId, count }));

/** Leases up to `room` deliveries of committed events, as a process does. */
async function take(store: Store, room = 0, at = now): Promise<LeaseResult> {
  await store.events.bounds();
  return store.write('dispatchDeliveries', { settled: [], lease: requestAt(at, room) });
}

async function addPets({ write }: UnitWriter, count: number): Promise<void> {
  const body = newPet('sent');
  await Promise.all(Array.from({ length: count }, () => write('createPet', { body, now } as never)));
}

/** Adds pending deliveries of a webhook that are due. */
const addDeliveries = {
  writes: ['webhooks'],
  run: async ({ deliveries }, { webhookId, count, type = 'pet.created', first = 1, dueAt = now }) => {
    const due = { status: 'pending', attempts: '[]', nextAttemptAt: dueAt, createdAt: now } as const;
    const add = (_: unknown, index: number) =>
      deliveries.add({ ...due, webhookId, eventId: BigInt(first + index), type });
    // Sent to PostgreSQL together: a busy machine takes too long for a thousand round trips.
    await Promise.all(Array.from({ length: count }, add));
  },
} satisfies UnitOfWork<
  {
    readonly webhookId: bigint;
    readonly count: number;
    readonly type?: EventType;
    /** Id of the first event. */
    readonly first?: number;
    readonly dueAt?: number;
  },
  void
>;

function ended({ id, webhookId, leasedUntil }: LeasedDelivery): SettledDelivery {
  const done = { status: 'succeeded', attempts: '[]', nextAttemptAt: null, finishedAt: now } as const;
  return { ...done, id, webhookId, leasedUntil };
}

/** Makes leased deliveries due again. */
const release = ({ write }: UnitWriter, { deliveries }: LeaseResult) =>
  write('dispatchDeliveries', {
    settled: deliveries.map((delivery) => reschedule(delivery, now)),
    lease: requestAt(now, 0),
  });

/** Number of leased deliveries of each webhook. */
const countLeases = ({ deliveries }: LeaseResult, webhooks: readonly { readonly id: bigint }[]) =>
  webhooks.map(({ id }) => deliveries.filter(({ webhookId }) => webhookId === id).length);

/** Sends all due deliveries. Returns their number. */
async function takeRest(
  store: Store,
  seen: (taken: LeasedDelivery) => void = () => undefined,
): Promise<number> {
  let count = 0;
  let settled: SettledDelivery[] = [];
  await store.events.bounds();
  for (;;) {
    const { deliveries, isMore } = await store.write('dispatchDeliveries', {
      settled,
      lease: requestAt(now, 100),
    });
    deliveries.forEach(seen);
    count += deliveries.length;
    settled = deliveries.map(ended);
    if (settled.length === 0 && !isMore) return count;
  }
}

/** Fails an attempt of every due delivery. The next attempt is due at `nextAttemptAt`. */
async function failAll(store: Store, nextAttemptAt: number): Promise<void> {
  let settled: SettledDelivery[] = [];
  do {
    const { deliveries } = await store.write('dispatchDeliveries', { settled, lease: requestAt(now, 100) });
    settled = deliveries.map((one) => ({
      ...ended(one),
      status: 'pending',
      nextAttemptAt,
      finishedAt: null,
    }));
  } while (settled.length > 0);
}

/** Requests a redelivery. Returns the code of the refusal, if any. */
async function redeliver(store: Store, webhookId: bigint, after: bigint): Promise<string> {
  const asked = { params: { webhookId }, body: { after }, events: await store.events.bounds(), now };
  return store.write('redeliverAccountEvents', asked).then(
    () => 'started',
    ({ code }) => code,
  );
}

export function webhooksConform(check: StoreTest): void {
  check(
    `an account can have at most ${maxWebhooks} webhooks, even if several processes create them concurrently`,
    async ({ store, beside }) => {
      const stores = [store, await beside()];
      const asked = Array.from({ length: maxWebhooks }, () => stores.map((one) => create(one))).flat();
      const outcomes = await Promise.allSettled([...asked, create(store, 2)]);
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(refused.map(({ reason }) => reason.code)).toEqual(Array(maxWebhooks).fill('too_many_webhooks'));
      expect(await store.webhooks.list(undefined, 100, { accountId: 1 })).toHaveLength(maxWebhooks);
    },
  );

  check(
    'a webhook that an operator enables again receives only events that occur afterwards',
    async ({ store }) => {
      const { id } = await create(store);
      const position = async () => (await store.webhooks.find(id))?.position;
      await store.write('enableWebhookByOperator', { id, lastEvent: 8n, now });
      expect(await position()).toBe(0n);
      const reason = 'Overloaded.';
      expect(await store.write('disableWebhookByOperator', { id, reason, now })).toBe(true);
      expect(await store.webhooks.find(id)).toMatchObject({ enabled: false, disabledReason: reason });
      await store.write('enableWebhookByOperator', { id, lastEvent: 9n, now });
      const { enabled, disabledReason } = (await store.webhooks.find(id)) ?? {};
      expect([await position(), enabled, disabledReason]).toEqual([9n, true, undefined]);
      const unknown = store.write('enableWebhookByOperator', { id: 99n, lastEvent: 9n, now });
      expect(await rejectionOf(unknown)).toMatchObject({ code: 'webhook_not_found' });
    },
  );

  check('no webhook is created or changed once its account is closed', async ({ store, beside }) => {
    const { accountId } = await addReader(store);
    const { id } = await create(store, accountId);
    await (await beside()).write('closeAccount', { id: accountId, closedAt: now });
    const change = () =>
      store.write('updateWebhook', {
        ...{ params: { webhookId: id }, preconditions: {}, caller: ofAccount(accountId), now },
        ...{ endpoint: { mistake: undefined }, events: { oldest: 1n, last: 0n }, body: { enabled: true } },
      });
    for (const refused of [change, () => create(store, accountId)])
      await expect(refused()).rejects.toMatchObject({ code: 'invalid_api_key' });
    const found = await store.webhooks.list(undefined, 9, { accountId });
    expect(found.map(({ enabled }) => enabled)).toEqual([false]);
  });

  check('every event creates exactly one delivery per enabled webhook', async ({ store, beside }) => {
    const { id: webhookId } = await create(store);
    const change = {
      params: { webhookId },
      preconditions: {},
      caller: ofAccount(1),
      events: { oldest: 1n, last: 0n },
      now,
    };
    const enable = (enabled: boolean) =>
      store.write('updateWebhook', { ...change, endpoint: { mistake: undefined }, body: { enabled } });
    await addPets(store, 2);
    await enable(false);
    await take(store);
    expect(await store.deliveries.list()).toEqual([]);
    await enable(true);
    const stores = [store, await beside(), store];
    await Promise.all(stores.map((one) => take(one)));
    const rows = await store.deliveries.list(undefined, 9, { webhookId });
    expect(rows.map(({ eventId, nextAttemptAt }) => [eventId, nextAttemptAt])).toEqual([
      [2n, now],
      [1n, now],
    ]);
    expect((await store.webhooks.find(webhookId))?.position).toBe(2n);
  });

  check(
    'a delivery is leased to one process, and at most four deliveries of a webhook are leased at a time',
    async ({ store, beside }) => {
      const [{ id: webhookId }, other] = [await create(store), await create(store)];
      await addPets(store, 6);
      const stores = [store, await beside(), store];
      const taken = (await Promise.all(stores.map((one) => take(one, 100)))).flatMap(
        ({ deliveries }) => deliveries,
      );
      const idsOf = (id: bigint) => taken.filter((one) => one.webhookId === id).map(({ eventId }) => eventId);
      expect([idsOf(webhookId).sort(), idsOf(other.id).sort()]).toEqual([fourEvents, fourEvents]);
      expect((await take(store, 100)).deliveries).toEqual([]);
      expect((await take(await beside(), 100, now + leaseMs)).deliveries).toHaveLength(8);
    },
  );

  check(
    'only the process that has leased deliveries of a webhook leases more of them',
    async ({ store, beside }) => {
      const { id } = await create(store);
      await addPets(store, 3);
      expect((await take(store, 1)).deliveries).toHaveLength(1);
      expect((await take(await beside(), 9)).deliveries).toEqual([]);
      const lease = { ...requestAt(now, 9), inFlight: requests([id, 1, 1]) };
      expect((await store.write('dispatchDeliveries', { settled: [], lease })).deliveries).toHaveLength(2);
    },
  );

  check(
    'leases that a process obtained without a reply are ended in its next round, and none that end at another time',
    async ({ store, beside }) => {
      await create(store);
      await addPets(store, 6);
      const other = await beside();
      const kept = (await take(other, 1)).deliveries;
      const { id } = await create(store, 2);
      await addPets(store, 1);
      const lost = (await take(store, 9, now + 1)).deliveries;
      expect(lost.map(({ webhookId }) => webhookId)).toEqual(Array(4).fill(id));
      const lease = { ...requestAt(now + 2, 9), lost: [now + 1 + leaseMs] };
      const again = await store.write('dispatchDeliveries', { settled: [], lease });
      expect(again.deliveries.map(({ webhookId }) => webhookId)).toEqual(Array(4).fill(id));
      await other.write('dispatchDeliveries', { settled: kept.map(ended), lease: requestAt(now + 3, 0) });
      expect((await store.deliveries.list(undefined, 9, { status: 'succeeded' })).length).toBe(1);
    },
  );

  check(
    'a gap in the event ids is skipped immediately, and its ids do not count as expired events',
    async ({ store }) => {
      await create(store);
      await addPets(store, 1);
      await take(store);
      for (let skipped = 0; skipped < 250; skipped++) await store.write('skipEvents', null);
      await addPets(store, 1);
      const { expired, deliveries } = await take(store, 100);
      expect([expired, deliveries.map(({ eventId }) => eventId)]).toEqual([0, [1n, 252n]]);
    },
  );

  check('the outcome of a delivery is ignored after its lease has expired', async ({ store }) => {
    await create(store);
    await addPets(store, 1);
    const [first] = (await take(store, 9)).deliveries;
    const [second] = (await take(store, 9, now + leaseMs)).deliveries;
    const ended = { status: 'succeeded', attempts: '[]', nextAttemptAt: null, finishedAt: now } as const;
    const settle = ({ id, webhookId, leasedUntil }: LeasedDelivery) =>
      store.write('dispatchDeliveries', {
        settled: [{ ...ended, id, webhookId, leasedUntil }],
        lease: requestAt(now, 0),
      });
    const statuses = async () => (await store.deliveries.list()).map(({ status }) => status);
    await settle(first as LeasedDelivery);
    expect(await statuses()).toEqual(['pending']);
    await settle(second as LeasedDelivery);
    expect(await statuses()).toEqual(['succeeded']);
    expect((await store.webhooks.find(1n))?.succeededAt).toBe(now);
  });

  check(
    'a delivery that was leased when its process was killed is due after a delay equal to its age, from 5 s to 5 min',
    async ({ store }) => {
      await create(store);
      await addPets(store, 1);
      const count = async (at: number) => (await take(store, 100, at)).deliveries.length;
      expect(await count(now)).toBe(1);
      for (const [killed, due] of [
        [1_000, 6_000],
        [7_000, 14_000],
        [200_000, 400_000],
        [1_000_000, 1_300_000],
      ] as const) {
        await store.write('releaseDeliveries', now + killed);
        expect([killed, await count(now + due - 1), await count(now + due)]).toEqual([killed, 0, 1]);
      }
    },
  );

  check(
    'a delivery whose lease expired is due after a delay equal to its age, at most 5 min, and not before the lease ends',
    async ({ store }) => {
      await create(store);
      await addPets(store, 1);
      const count = async (at: number) => (await take(store, 100, at)).deliveries.length;
      expect(await count(now)).toBe(1);
      for (const due of [leaseMs, 2 * leaseMs, 4 * leaseMs, 8 * leaseMs, 13 * leaseMs])
        expect([due, await count(now + due - 1), await count(now + due)]).toEqual([due, 0, 1]);
    },
  );

  check(
    'after the clock was set back by 25 hours, deliveries leased or due for a retry at the former time are due, and no others',
    async ({ store, besideWith }) => {
      const { id: webhookId } = await create(store);
      const day = 24 * 3_600_000;
      const later = now + day + 3_600_000;
      const failedAt = (at: number) => JSON.stringify([{ at: new Date(at).toISOString(), status: 500 }]);
      const pending = { webhookId, type: 'pet.created', status: 'pending', attempts: '[]' } as const;
      const rows = [
        { ...pending, leasedUntil: later + leaseMs, nextAttemptAt: later + leaseMs },
        { ...pending, nextAttemptAt: later },
        { ...pending, nextAttemptAt: later + 5_000, attempts: failedAt(later) },
        { ...pending, nextAttemptAt: later + day, attempts: failedAt(now) },
        { ...pending, nextAttemptAt: now + day, attempts: failedAt(now) },
        { ...pending, leasedUntil: now + leaseMs, nextAttemptAt: now + leaseMs },
        { ...pending, leasedUntil: now + leaseMs, nextAttemptAt: now + 5 * leaseMs },
        // The attempt of a process whose clock is slightly ahead.
        { ...pending, nextAttemptAt: now + 5 * leaseMs, attempts: failedAt(now + 1_000) },
      ];
      const add = {
        writes: ['webhooks'],
        run: async ({ deliveries }) => {
          for (const [index, row] of rows.entries())
            await deliveries.add({ ...row, eventId: BigInt(index + 1), createdAt: now });
        },
      } satisfies UnitOfWork<null, void>;
      await (await besideWith({ add })).write('add', null);
      const latest = { latestLease: now + 2 * leaseMs, latestRetry: now + 1.1 * day };
      const ends: (bigint | undefined)[] = [];
      for (let after: bigint | undefined = 0n; after !== undefined; ends.push(after))
        after = await store.write('rescheduleDeliveries', { after, now, ...latest });
      expect(ends).toEqual([BigInt(rows.length), undefined]);
      const stored = await store.deliveries.list(undefined, 9, { webhookId });
      expect(stored.reverse().map(({ nextAttemptAt, leasedUntil }) => [nextAttemptAt, leasedUntil])).toEqual([
        ...Array.from({ length: 4 }, () => [now, undefined]),
        [now + day, undefined],
        [now + leaseMs, now + leaseMs],
        [now + 5 * leaseMs, now + leaseMs],
        [now + 5 * leaseMs, undefined],
      ]);
    },
  );

  check(
    'a success recorded while the clock was ahead does not keep a failing webhook enabled',
    async ({ store }) => {
      const { id: webhookId } = await create(store);
      await addPets(store, 2);
      const [lease, failing] = (await take(store, 100)).deliveries;
      const later = now + 25 * 3_600_000;
      const done = { status: 'succeeded', attempts: '[]', nextAttemptAt: null, finishedAt: later } as const;
      const { id, leasedUntil } = lease as LeasedDelivery;
      const settled = [{ ...done, id, webhookId, leasedUntil }];
      await store.write('dispatchDeliveries', { settled, lease: requestAt(later, 0) });
      const latest = { latestLease: now + leaseMs, latestRetry: now };
      await store.write('rescheduleDeliveries', { after: 0n, now, ...latest });
      const disable = (since: number) =>
        store.write('disableWebhook', {
          ...{ delivery: failing as LeasedDelivery, reason: 'Gone.' },
          ...{ since, now: since },
        });
      expect([await disable(now - 1), await disable(now + 1)]).toEqual(['kept', 'disabled']);
    },
  );

  check(
    `if a webhook has ${maxPending} pending deliveries, more are created only as pending deliveries finish`,
    async ({ store }) => {
      const { id } = await create(store);
      const count = maxPending + 250;
      for (let added = 0; added < count; added += 250) await addPets(store, 250);
      const takeAll = async () => {
        while ((await take(store)).isMore);
        return (await store.webhooks.find(id))?.position;
      };
      expect(await takeAll()).toBe(BigInt(maxPending));
      expect((await take(store)).full).toEqual([id]);
      const lease = { ...requestAt(now, 0), full: [id] };
      expect((await store.write('dispatchDeliveries', { settled: [], lease })).full).toEqual([]);
      for (let found = await take(store, 100); found.deliveries.length > 0; ) {
        const settled = found.deliveries.map(({ id: delivery, webhookId, leasedUntil }) => {
          const ended = {
            status: 'succeeded',
            attempts: '[]',
            nextAttemptAt: null,
            finishedAt: now,
          } as const;
          return { ...ended, id: delivery, webhookId, leasedUntil };
        });
        found = await store.write('dispatchDeliveries', { settled, lease: requestAt(now, 100) });
      }
      expect(await takeAll()).toBe(BigInt(count));
    },
  );

  check(
    `events that may not be sent delay a webhook's other events only after ${maxHeldEvents} later events`,
    async ({ store, besideWith }) => {
      const { id: webhookId } = await create(store);
      const filler = await besideWith({ addDeliveries });
      const hold = (first: number) =>
        filler.write('addDeliveries', {
          webhookId,
          count: maxPending,
          type: 'order.placed',
          first,
          dueAt: first,
        });
      const sent = async () => (await take(store, 100)).deliveries.map(({ type }) => type);
      await hold(2 - maxHeldEvents);
      await addPets(store, 1);
      expect(await sent()).toEqual(['pet.created']);
      await hold(1 - maxHeldEvents);
      await addPets(store, 1);
      await take(store);
      expect((await store.webhooks.find(webhookId))?.position).toBe(1n);
      await addKey(store, 1, { scopes: ['orders:read', 'events:read'] });
      expect((await take(store, 100, now + leaseMs)).deliveries).toHaveLength(maxInFlight.perWebhook);
    },
  );

  check('events that expired before a delivery was created are skipped and counted', async ({ store }) => {
    await create(store);
    await addPets(store, 3);
    await store.events.bounds();
    await store.write('pruneEvents', now + 1);
    await addPets(store, 1);
    const { expired, deliveries } = await take(store, 9);
    expect([expired, deliveries.map(({ eventId }) => eventId)]).toEqual([3, [4n]]);
  });

  check('finished deliveries are eventually removed, but pending deliveries never are', async ({ store }) => {
    await create(store);
    await addPets(store, 2);
    const [first] = (await take(store, 1)).deliveries;
    const { id, webhookId, leasedUntil } = first as LeasedDelivery;
    const ended = { status: 'failed', attempts: '[]', nextAttemptAt: null, finishedAt: now } as const;
    const settled = [{ ...ended, id, webhookId, leasedUntil }];
    await store.write('dispatchDeliveries', { settled, lease: requestAt(now, 0) });
    const left = async (before: number) => {
      await store.write('pruneDeliveries', before);
      return (await store.deliveries.list()).length;
    };
    expect([await left(now), await left(now + 1)]).toEqual([2, 1]);
  });

  check(
    'the newest finished deliveries of each webhook and status are kept, and so are all pending deliveries',
    async ({ store, besideWith }) => {
      const [full, other] = [await create(store), await create(store)];
      const finished = { attempts: '[]', createdAt: now, finishedAt: now, type: 'pet.created' } as const;
      const add = {
        writes: ['webhooks'],
        run: async ({ deliveries }, counts) => {
          for (const [webhookId, status, count] of counts)
            for (let at = 1; at <= count; at++)
              await deliveries.add({ ...finished, webhookId, status, eventId: BigInt(at) });
        },
      } satisfies UnitOfWork<readonly (readonly [bigint, DeliveryStatus, number])[], void>;
      const counts = [
        [full.id, 'succeeded', 2 * deliveryBatch],
        [full.id, 'pending', 30],
        [full.id, 'failed', deliveryBatch + 30],
        [other.id, 'succeeded', 21],
        [other.id, 'failed', 20],
      ] as const;
      await (await besideWith({ add })).write('add', counts);
      const left = () =>
        Promise.all(
          counts.map(async ([webhookId, status]) => {
            const rows = await store.deliveries.list(undefined, 9_999, { webhookId, status });
            return [rows.length, rows[0]?.eventId];
          }),
        );
      const ofAll = counts.map(([, , count]) => [count, BigInt(count)]);
      let steps = 0;
      let after: SweepPosition | undefined;
      do {
        const before = (await left()).reduce((sum, [count]) => sum + Number(count), 0);
        after = await store.write('trimDeliveries', { keep: 20, after: after ?? null });
        const removed = before - (await left()).reduce((sum, [count]) => sum + Number(count), 0);
        expect(removed).toBeLessThanOrEqual(deliveryBatch);
        steps++;
      } while (after !== undefined && steps < 20);
      expect(after).toBeUndefined();
      expect(await left()).toEqual(
        ofAll.map(([count, newest], at) => [counts[at]?.[1] === 'pending' ? count : 20, newest]),
      );
    },
  );

  check(
    'an outcome disables a webhook only if the attempt had a lease, was made to the current URL, and began after the webhook was last enabled',
    async ({ store, beside }) => {
      const { id: webhookId, url } = await create(store);
      await addPets(store, 1);
      const [delivery] = (await take(store, 9)).deliveries as [LeasedDelivery];
      const disable = async (changed: Partial<LeasedDelivery>, since: number, at = now) =>
        (await beside()).write('disableWebhook', {
          ...{ delivery: { ...delivery, ...changed }, reason: 'Gone.' },
          ...{ since, now: at },
        });
      const isEnabled = async () => (await store.webhooks.find(webhookId))?.enabled;
      const change = (body: object, at: number) =>
        store.write('updateWebhook', {
          ...{ params: { webhookId }, preconditions: {}, caller: ofAccount(1), now: at },
          ...{ endpoint: { mistake: undefined }, events: { oldest: 1n, last: 0n }, body },
        });
      expect(await disable({ leasedUntil: delivery.leasedUntil - 1 }, now)).toBe('kept');
      await change({ url: 'https://other.example/' }, now + 10);
      expect([await disable({ url }, now + 99), await isEnabled()]).toEqual(['moved', true]);
      const moved = { url: 'https://other.example/' };
      // The delivery was created before the change, so some of its attempts were made to the former URL.
      expect([await disable(moved, now + 10), await isEnabled()]).toEqual(['kept', true]);
      expect([await disable(moved, now + 11), await isEnabled()]).toEqual(['disabled', false]);
      expect(await disable(moved, now + 11)).toBe('disabled');
      await change({ enabled: true }, now + 20);
      expect([await disable(moved, now + 20), await isEnabled()]).toEqual(['kept', true]);
      expect([await disable(moved, now + 21), await isEnabled()]).toEqual(['disabled', false]);
      await store.write('enableWebhookByOperator', { id: webhookId, lastEvent: 9n, now: now + 30 });
      expect([await disable(moved, now + 30), await isEnabled()]).toEqual(['kept', true]);
    },
  );

  check(
    `a delivery is sent again only if its webhook has fewer than ${maxPending} pending deliveries or it is one of them`,
    async ({ store, besideWith }) => {
      const { id: webhookId } = await create(store);
      await addPets(store, 1);
      await takeRest(store);
      const [finished] = await store.deliveries.list(undefined, 1, { webhookId });
      const filler = await besideWith({ addDeliveries });
      await filler.write('addDeliveries', { webhookId, count: maxPending - 1 });
      const again = (deliveryId: bigint) =>
        store.write('redeliverAccountDelivery', { params: { webhookId, deliveryId }, now }).then(
          ({ status }) => status,
          ({ code }) => code,
        );
      const asked = [await again(finished?.id ?? 0n), await again(finished?.id ?? 0n)];
      expect(asked).toEqual(['pending', 'too_many_deliveries']);
      const [pending] = await store.deliveries.list(undefined, 1, { webhookId, status: 'pending' });
      expect(await again(pending?.id ?? 0n)).toBe('pending');
      expect(await store.deliveries.list(undefined, 2_000, { webhookId, status: 'pending' })).toHaveLength(
        maxPending,
      );
    },
  );

  check(
    'the age of the backlog is the age of the oldest delivery to an enabled webhook',
    async ({ store }) => {
      const first = await create(store);
      expect(await store.deliveries.backlog()).toEqual({ pending: 0, oldestAt: undefined });
      await addPets(store, 1);
      await take(store);
      const second = await create(store);
      await take(store, 0, now + 1);
      const disable = ({ id }: { readonly id: bigint }) =>
        store.write('disableWebhookByOperator', { id, reason: 'Gone.', now });
      expect(await store.deliveries.backlog()).toEqual({ pending: 2, oldestAt: now });
      await disable(first);
      expect(await store.deliveries.backlog()).toEqual({ pending: 2, oldestAt: now + 1 });
      await disable(second);
      expect(await store.deliveries.backlog()).toEqual({ pending: 2, oldestAt: undefined });
    },
  );

  check(
    'a deleted webhook disappears immediately, and its deliveries, but no others, are removed in steps',
    async ({ store, beside, besideWith, restart }) => {
      const [{ id: webhookId }, other] = [await create(store), await create(store)];
      await addPets(store, 1);
      await take(store);
      const filler = await besideWith({ addDeliveries });
      await filler.write('addDeliveries', { webhookId, count: 2 * deliveryBatch });
      const deleted = { params: { webhookId }, preconditions: {}, caller: ofAccount(1), now };
      await store.write('deleteWebhook', deleted);
      await expect(store.write('deleteWebhook', deleted)).rejects.toMatchObject({
        code: 'webhook_not_found',
      });
      const seen = [
        await store.webhooks.find(webhookId),
        ...(await store.webhooks.findMany([webhookId])),
        ...(await store.webhooks.list()),
        ...(await store.webhooks.list(0n, 9, { enabled: false })),
        ...(await store.webhooks.listNewest(undefined, 1)),
      ];
      expect(seen.map((webhook) => webhook?.id)).toEqual([undefined, other.id, other.id]);
      expect(await store.deliveries.backlog()).toEqual({ pending: 1, oldestAt: now });
      const { deliveries } = await take(store, 100, now);
      expect(deliveries.map((delivery) => delivery.webhookId)).toEqual([other.id]);

      const left = async (one: Store) => (await one.deliveries.list(undefined, 9_999, { webhookId })).length;
      expect(await left(store)).toBe(2 * deliveryBatch + 1);
      expect(await store.write('sweepWebhooks', null)).toMatchObject({ webhookId });
      expect(await left(store)).toBe(deliveryBatch + 1);
      const [restarted, another] = [await restart(), await beside()];
      const sweep = async (one: Store) => (await one.write('sweepWebhooks', null)) !== undefined;
      while ((await sweep(restarted)) || (await sweep(another)));
      expect((await restarted.deliveries.list()).map((delivery) => delivery.webhookId)).toEqual([other.id]);
    },
  );

  const scopeChanges: readonly [string, (write: UnitWriter['write'], key: Reader) => Promise<unknown>][] = [
    ['its key is revoked', (write, { keyId: id }) => write('revokeKey', { id, at: now })],
    [
      'its key no longer has the scope of the types',
      (write, { keyId: id }) =>
        write('setKeyScopes', { id, scopes: ['orders:read', 'events:read'], preconditions: {} }),
    ],
    [
      'its key no longer has events:read',
      (write, { keyId: id }) => write('setKeyScopes', { id, scopes: ['pets:read'], preconditions: {} }),
    ],
  ];
  for (const [what, change] of scopeChanges) {
    check(
      `deliveries of an account wait after ${what}, and are sent once another key of the account may read their events`,
      async ({ store }) => {
        const reader = await addReader(store);
        const { id } = await create(store);
        await addPets(store, 3);
        await take(store);
        await change(store.write, reader);
        await addPets(store, 2);
        expect((await take(store, 100)).deliveries).toEqual([]);
        expect(await store.deliveries.sendable([reader.accountId], now)).not.toContainEqual(
          expect.objectContaining({ scopes: expect.arrayContaining(['pets:read']) }),
        );
        await addKey(store, reader.accountId, { expiresAt: now + 1 });
        expect((await take(store, 100, now + 1)).deliveries).toEqual([]);
        await addKey(store, reader.accountId, { expiresAt: now + 2 });
        await take(store, 0, now + 1);
        const taken = (await take(store, 100, now + 1)).deliveries;
        expect(taken.map(({ webhookId, eventId }) => [webhookId, eventId])).toEqual(
          fourEvents.map((eventId) => [id, eventId]),
        );
      },
    );
  }

  check(
    'only events that a key of the account may read are sent, whatever the webhook selects',
    async (bench) => {
      const { store } = bench;
      const { accountId, keyId } = await addReader(store);
      await create(store);
      await addPets(store, 1);
      await store.write('putCategory', {
        ...{ params: { categoryId: 1n }, body: { name: 'Dogs' }, preconditions: {}, now },
      });
      await store.write('placeOrder', { body: { petId: 1n }, now });
      await take(store);
      await store.write('setKeyScopes', {
        ...{ id: keyId, scopes: ['orders:read', 'events:read'], preconditions: {} },
      });
      const types = async () => (await take(store, 100)).deliveries.map(({ type }) => type);
      expect(await types()).toEqual([]);
      await addKey(store, accountId, { scopes: ['pets:read', 'events:read'] });
      expect(await types()).toEqual(['pet.created', 'category.created', 'pet.updated']);
    },
  );

  check(
    'webhooks take turns when a process has room for only one delivery, whatever their ids',
    async ({ store }) => {
      const accounts = [1, 2, 3];
      const ids: bigint[] = [];
      for (const accountId of accounts) ids.push((await create(store, accountId)).id);
      await addPets(store, 4);
      await take(store);
      const served: (bigint | undefined)[] = [];
      let settled: SettledDelivery[] = [];
      let after = 0n;
      for (let round = 0; round < 20 && served.length < 6; round++) {
        const taking = { ...requestAt(now, 1), after };
        const taken = await store.write('dispatchDeliveries', { settled, lease: taking });
        // Every attempt fails, and the delivery is due again at once.
        const failed = { status: 'pending', nextAttemptAt: now, finishedAt: null } as const;
        settled = taken.deliveries.map((one) => ({ ...ended(one), ...failed }));
        served.push(...taken.deliveries.map(({ webhookId }) => webhookId));
        ({ after } = taken);
      }
      expect(served).toEqual([...ids, ...ids]);
    },
  );

  check(
    'a round without room for deliveries keeps its position, and reports that there is nothing more',
    async ({ store }) => {
      const { id } = await create(store);
      await addPets(store, 1);
      await take(store);
      const round = async (room: number, after: bigint) => {
        const taking = { ...requestAt(now, room), after };
        const { after: next, isMore } = await store.write('dispatchDeliveries', {
          settled: [],
          lease: taking,
        });
        return [next, isMore];
      };
      expect([await round(0, id), await round(0, 0n)]).toEqual([
        [id, false],
        [0n, false],
      ]);
      expect(await round(1, id)).toEqual([0n, true]);
    },
  );

  /** Creates webhooks of these accounts, with ten due deliveries each. Returns a function that counts what a round leases. */
  const createLeased = async (store: Store, accounts: readonly number[]) => {
    const made: { readonly id: bigint }[] = [];
    for (const accountId of accounts) made.push(await create(store, accountId));
    await addPets(store, 10);
    await take(store);
    const ids = made.map(({ id }) => id);
    const leased = async (more: (ids: readonly bigint[]) => Partial<LeaseRequest>) => {
      const lease = { ...requestAt(now, 100), ...more(ids) };
      const taken = await store.write('dispatchDeliveries', { settled: [], lease });
      await release(store, taken);
      return [countLeases(taken, made), taken.isMore] as const;
    };
    return leased;
  };
  check(
    'a webhook may have 4 requests in flight, and 1 if its receiver did not respond to the last one',
    async ({ store }) => {
      const leased = await createLeased(store, [1, 1, 1, 1]);
      expect(
        await leased(([one, two, stalled = 0n]) => ({
          inFlight: requests([one, 1, 3], [two, 1, 4]),
          stalled: [stalled],
        })),
      ).toEqual([[1, 0, 1, 4], false]);
    },
  );

  check(
    'an account may use a part of the free places, and the more a webhook uses, the more it leaves to the others of its account',
    async ({ store }) => {
      const leased = await createLeased(store, [1, 1, 2, 3]);
      const at = async (free: number, own: (ids: readonly bigint[]) => LeaseRequest['inFlight'] = () => []) =>
        (await leased((ids) => ({ free, inFlight: own(ids) })))[0];
      expect(await at(1_000)).toEqual([4, 4, 4, 4]);
      expect(await at(24 * 9)).toEqual([3, 3, 4, 4]);
      expect(await at(24 * 7)).toEqual([3, 2, 4, 4]);
      expect(await at(24 * 2)).toEqual([1, 0, 1, 1]);
      expect(await at(24 * 2 + 8)).toEqual([1, 1, 2, 2]);
      expect(await at(3)).toEqual([1, 0, 1, 1]);
      expect(await at(260, ([one]) => requests([one, 1, 50]))).toEqual([0, 1, 4, 4]);
      expect(await at(250, ([one]) => requests([one, 1, 50]))).toEqual([0, 0, 4, 4]);
      expect(await at(2)).toEqual([1, 0, 1, 0]);
      expect(await at(0)).toEqual([0, 0, 0, 0]);
      expect(await at(3, ([one]) => requests([one, 1, 1]))).toEqual([0, 0, 1, 1]);
      expect(await at(24 * 4, ([one]) => requests([one, 1, 2]))).toEqual([0, 1, 2, 2]);
    },
  );

  check(
    'a round leases at most as many deliveries as it has room for, and accounts with fewer requests get theirs first',
    async ({ store }) => {
      const leased = await createLeased(store, [1, 2, 3]);
      expect((await leased(([one]) => ({ room: 2, inFlight: requests([one, 1, 1]) })))[0]).toEqual([0, 1, 1]);
      expect((await leased(() => ({ room: 0 })))[0]).toEqual([0, 0, 0]);
    },
  );

  check(
    'if webhooks without deliveries took the places of a round, another round follows',
    async ({ store }) => {
      await create(store, 1, { types: ['pet.deleted'] });
      await create(store, 2);
      await addPets(store, 1);
      await store.events.bounds();
      const round = () => store.write('dispatchDeliveries', { settled: [], lease: requestAt(now, 1) });
      const [first, second] = [await round(), await round()];
      expect([first.deliveries.length, first.isMore, second.deliveries.length]).toEqual([0, true, 1]);
    },
  );

  check(
    'webhooks that may not have another request do not take the place of others in a round',
    async ({ store, besideWith }) => {
      const { write } = await besideWith({ addDeliveries });
      const made: bigint[] = [];
      for (let at = 0; at <= leaseLimits.webhooks; at++)
        made.push((await create(store, 1 + Math.floor(at / 10))).id);
      const last = made.at(-1) ?? 0n;
      const others = made.slice(0, -1);
      const takeWith = async (limits: Partial<LeaseRequest>) => {
        for (const webhookId of made) await write('addDeliveries', { webhookId, count: 1 });
        const lease = { ...requestAt(now, 100), ...limits };
        const { deliveries } = await store.write('dispatchDeliveries', { settled: [], lease });
        return deliveries.map(({ webhookId }) => webhookId);
      };
      expect(await takeWith({ suspended: others })).toEqual([last]);
      const accountsAtLimit = [1, 2, 3, 4, 5].map((id) => [90n + BigInt(id), id, 50] as const);
      const inFlight = requests([last, 6, 1], ...accountsAtLimit);
      expect(await takeWith({ inFlight, free: 250 })).toEqual([last]);
    },
  );

  check(
    'closing an account disables its webhooks and no others, and none of its events is sent',
    async (bench) => {
      const { store } = bench;
      const [closed, open] = [await addReader(store), await addReader(store)];
      const webhooks = [await create(store, closed.accountId), await create(store, open.accountId)];
      await addPets(store, 1);
      await take(store);
      await store.write('closeAccount', { id: closed.accountId, closedAt: now });
      const found = await store.webhooks.list();
      expect(found.map(({ enabled, disabledReason }) => [enabled, disabledReason])).toEqual([
        [false, 'account_closed'],
        [true, undefined],
      ]);
      const { last: lastEvent } = await store.events.bounds();
      await store.write('enableWebhookByOperator', { id: webhooks[0]?.id ?? 0n, lastEvent, now });
      await addPets(store, 1);
      await take(store);
      const taken = (await take(store, 100)).deliveries;
      expect(taken.map(({ accountId }) => accountId)).toEqual([open.accountId, open.accountId]);
      await store.write('reopenAccount', { id: closed.accountId, closedAt: null });
      const resumed = (await take(store, 100)).deliveries;
      expect(new Set(resumed.map(({ accountId }) => accountId))).toEqual(new Set([closed.accountId]));
    },
  );

  check(
    "the deliveries of an account's webhooks are paced together, and its webhooks take turns",
    async ({ store, beside }) => {
      await create(store);
      const { accountId } = await addReader(store);
      const own = [await create(store, accountId), await create(store, accountId)].map(({ id }) => id);
      await addPets(store, 100);
      await take(store);
      const stores = [store, await beside()];
      const settledOf = (taken: readonly LeasedDelivery[]) => taken.map(ended);
      let round = 0;
      let settled: SettledDelivery[] = [];
      /** The numbers of deliveries to each webhook of the account that are leased in a second, by two processes. */
      const inSecond = async (second: number) => {
        const counts = new Map(own.map((id) => [id, 0]));
        for (let at = 0; at < 1_000; at += 50) {
          const taking = {
            ...requestAt(now + second * 1_000 + at, 100),
            perSecond: 20,
            turn: (round++ % 4) / 4 + 0.1,
          };
          const one = stores[round % 2] as Store;
          const { deliveries } = await one.write('dispatchDeliveries', { settled, lease: taking });
          settled = settledOf(deliveries);
          for (const { webhookId } of deliveries) {
            const count = counts.get(webhookId);
            if (count !== undefined) counts.set(webhookId, count + 1);
          }
        }
        return [...counts.values()];
      };
      const [first, second, third] = [await inSecond(0), await inSecond(1), await inSecond(2)];
      // A second's deliveries may be leased at once after a pause.
      expect((first[0] ?? 0) + (first[1] ?? 0)).toBe(39);
      for (const [one = 0, other = 0] of [second, third])
        expect([one + other, Math.abs(one - other) <= 1]).toEqual([20, true]);
    },
  );

  check(
    'a pace that was stored before the clock was set back does not stop deliveries',
    async ({ store }) => {
      await create(store);
      await addPets(store, 30);
      await take(store);
      const leased = async (at: number) => {
        const lease = { ...requestAt(at, 100), inFlight: requests([1n, 1, 1]), perSecond: 3 };
        return (await store.write('dispatchDeliveries', { settled: [], lease })).deliveries.length;
      };
      expect(await leased(now + 3_600_000)).toBe(3);
      expect([await leased(now), await leased(now), await leased(now + 667)]).toEqual([1, 0, 2]);
    },
  );

  check(
    'a redelivery moves the position back, sends every event once, and cannot be repeated until no delivery is due',
    async ({ store }) => {
      const { id } = await create(store);
      await addPets(store, 250);
      let leased = await takeRest(store);
      expect(leased).toBe(250);
      const last = 250n;
      expect(await redeliver(store, id, 100n)).toBe('started');
      expect((await store.webhooks.find(id))?.position).toBe(100n);
      expect(await store.deliveries.list(undefined, 1, { webhookId: id, status: 'pending' })).toEqual([]);
      expect(await redeliver(store, id, 0n)).toBe('redelivery_in_progress');
      await take(store);
      await take(store);
      expect((await store.webhooks.find(id))?.position).toBe(last);
      expect(await redeliver(store, id, 0n)).toBe('redelivery_in_progress');
      leased = await takeRest(store);
      expect(leased).toBe(150);
      expect(await redeliver(store, id, 0n)).toBe('started');
    },
  );

  check(
    'a redelivery makes pending deliveries due instead of sending their events twice, even if the maximum number is pending',
    async ({ store }) => {
      const { id } = await create(store);
      for (let added = 0; added < maxPending + 200; added += 200) await addPets(store, 200);
      while ((await take(store)).isMore);
      const later = now + 3_600_000;
      await failAll(store, later);
      expect((await take(store, 100)).deliveries).toEqual([]);
      expect(await redeliver(store, id, 1n)).toBe('started');
      const events = new Set<bigint>();
      let attempts = 0;
      await takeRest(store, ({ eventId }) => {
        events.add(eventId);
        attempts++;
      });
      expect([events.size, events.has(1n)]).toEqual([maxRedeliveredAtOnce + 200, false]);
      // Events are sent twice only if they were sent before the position could move.
      expect(attempts).toBeWithin(events.size, events.size + maxInFlight.perWebhook + 1);
    },
  );

  check(
    'sending a pending delivery again makes it due, unless an attempt is in progress',
    async ({ store }) => {
      const { id: webhookId } = await create(store);
      await addPets(store, 1);
      const [leased] = (await take(store, 1)).deliveries as [LeasedDelivery];
      const again = (at: number) =>
        store.write('redeliverAccountDelivery', {
          ...{ params: { webhookId, deliveryId: leased.id }, preconditions: {}, now: at },
        });
      const stored = async () => {
        const { status, nextAttemptAt, leasedUntil } = (await store.deliveries.find(leased.id)) ?? {};
        return [status, nextAttemptAt, leasedUntil];
      };
      await again(now + 1);
      expect(await stored()).toEqual(['pending', now + leaseMs, now + leaseMs]);
      // The process has crashed, so the delivery would be due after a delay equal to its age.
      const crashedAt = now + 3 * leaseMs;
      expect((await take(store, 1, crashedAt)).deliveries).toHaveLength(1);
      await again(crashedAt + leaseMs);
      expect(await stored()).toEqual(['pending', crashedAt + leaseMs, undefined]);
      expect((await take(store, 1, crashedAt + leaseMs)).deliveries).toHaveLength(1);
    },
  );

  check('a redelivery that a failing receiver stalls can be repeated', async ({ store }) => {
    const { id } = await create(store);
    for (let added = 0; added < maxPending + 200; added += 200) await addPets(store, 200);
    while ((await take(store)).isMore);
    await failAll(store, now + 3_600_000);
    expect(await redeliver(store, id, 0n)).toBe('started');
    expect(await redeliver(store, id, 0n)).toBe('redelivery_in_progress');
    await failAll(store, now + 3_600_000);
    expect(await redeliver(store, id, 0n)).toBe('started');
  });
}
