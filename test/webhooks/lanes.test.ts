/** How many deliveries are leased for each webhook and account, and which receivers count as fast. */
import { expect, test } from 'bun:test';
import type { LeasedDelivery, Pool } from '../../src/domain/delivery.ts';
import { DeliveryLanes, type Loaded } from '../../src/webhooks/delivery-lanes.ts';

const loaded = (webhookId: bigint, accountId = 1, pool: Pool = 'slow') => {
  const webhook = {
    webhookId,
    accountId,
    pool,
    url: '',
    isSelected: true,
    secret: '',
    formerSecret: null,
    formerSecretUntil: null,
  };
  const delivery: LeasedDelivery = {
    ...webhook,
    id: 1n,
    eventId: 1n,
    type: 'pet.created',
    attempts: '[]',
    createdAt: 0,
    leasedUntil: 0,
  };
  return { delivery, body: '{}' };
};

/** Adds and starts an attempt at time 0. */
function start(lanes: DeliveryLanes, webhookId: bigint, accountId?: number): LeasedDelivery {
  const started = loaded(webhookId, accountId);
  lanes.add(started);
  lanes.next(webhookId, 0);
  return started.delivery;
}

/** Makes an attempt that succeeds within this time. */
function attempt(lanes: DeliveryLanes, webhookId: bigint, milliseconds: number, accountId?: number): void {
  lanes.end(start(lanes, webhookId, accountId), milliseconds, 0);
}

const speedsOf = ({ leases: { fast, slow, stalled } }: DeliveryLanes) => ({ fast, slow, stalled });

test('a receiver counts as fast if its last attempt took less than a second, as slow up to ten seconds, and otherwise as stalled', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  attempt(lanes, 2n, 1_000);
  attempt(lanes, 3n, 9_999);
  attempt(lanes, 4n, 10_000);
  expect([speedsOf(lanes), lanes.held]).toEqual([{ fast: [1n], slow: [2n, 3n], stalled: [4n] }, {}]);
  attempt(lanes, 1n, 1_000);
  attempt(lanes, 2n, 10_000);
  attempt(lanes, 3n, 999);
  expect(speedsOf(lanes)).toEqual({ fast: [3n], slow: [1n], stalled: [4n, 2n] });
});

test('at most 32 deliveries to a fast receiver are leased, including those in flight, 1 to a stalled one, and 4 to any other', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  attempt(lanes, 2n, 10_000);
  for (const id of [1n, 2n, 3n]) start(lanes, id);
  expect(lanes.held).toEqual({ '1': 31, '2': 0, '3': 3 });
});

test('the deliveries of an account count against the pool in which they were leased, until they end', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  const fast = loaded(1n, 1, 'fast');
  for (const one of [fast, loaded(1n, 1, 'fast'), loaded(2n, 1, 'slow'), loaded(3n, 2, 'stalled')])
    lanes.add(one);
  for (const id of [1n, 2n, 3n]) lanes.next(id, 0);
  expect(lanes.used).toEqual({ fast: { 1: 2 }, slow: { 1: 1 }, new: {}, stalled: { 2: 1 } });
  expect(lanes.inFlight).toEqual({ fast: 1, slow: 1, new: 0, stalled: 1 });
  lanes.withdrawSlow(1_000);
  expect([speedsOf(lanes).fast, lanes.inFlight.fast]).toEqual([[], 1]);
  lanes.end(fast.delivery, Number.POSITIVE_INFINITY, 15_000);
  expect(lanes.inFlight).toEqual({ fast: 0, slow: 1, new: 0, stalled: 1 });
});

test('an account is distrusted for five minutes after a fast or slow receiver did not answer for three seconds', () => {
  const lanes = new DeliveryLanes();
  start(lanes, 1n);
  lanes.add(loaded(2n, 2, 'new'));
  lanes.add(loaded(3n, 3, 'stalled'));
  for (const id of [2n, 3n]) lanes.next(id, 0);
  const distrusted = () => lanes.leases.distrusted;
  for (const now of [0, 1_000, 2_000, 2_999]) lanes.withdrawSlow(now);
  expect(distrusted()).toEqual([]);
  lanes.withdrawSlow(3_000);
  expect(distrusted()).toEqual([1]);
  lanes.resume(302_999);
  expect(distrusted()).toEqual([1]);
  lanes.resume(303_000);
  expect(distrusted()).toEqual([]);
});

test('a pause of the process or a clock step does not make receivers slow', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  start(lanes, 1n);
  lanes.withdrawSlow(1_000);
  attempt(lanes, 2n, 0);
  start(lanes, 2n);
  lanes.withdrawSlow(60_000);
  expect(lanes.leases.fast).toEqual([2n]);
  lanes.withdrawSlow(60_999);
  lanes.withdrawSlow(61_000);
  expect(lanes.leases.fast).toEqual([]);
});

test('a quick response does not make a receiver count as fast while another request has waited for a second', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  start(lanes, 1n);
  const other = start(lanes, 1n);
  lanes.withdrawSlow(1_000);
  expect(lanes.leases.fast).toEqual([]);
  lanes.end(other, 1, 1_000);
  expect(lanes.leases.fast).toEqual([]);
});

test('only the 1,000 most recent receivers of each speed are remembered', () => {
  const lanes = new DeliveryLanes();
  for (let id = 1n; id <= 1_001n; id++) attempt(lanes, id, 999);
  attempt(lanes, 2n, 999);
  attempt(lanes, 1_002n, 999);
  const { fast } = lanes.leases;
  expect([fast.length, fast.at(0), fast.at(-1)]).toEqual([1_000, 4n, 1_002n]);
});

test('a suspended webhook gets no deliveries until the suspension ends, and at most 1,000 webhooks are suspended', () => {
  const lanes = new DeliveryLanes();
  lanes.add(loaded(1n));
  expect(lanes.suspend(1n, 60)).toBe(true);
  expect(lanes.held).toEqual({ '1': 0 });
  lanes.resume(59);
  expect(lanes.held).toEqual({ '1': 0 });
  lanes.resume(60);
  expect(lanes.held).toEqual({ '1': 3 });
  lanes.withdraw(1n, () => false);
  expect(lanes.held).toEqual({});
  for (let id = 1n; id <= 1_000n; id++) expect(lanes.suspend(id, 60)).toBe(true);
  expect([lanes.suspend(1_001n, 60), lanes.suspend(1n, 61)]).toEqual([false, true]);
});

/** Leases 32 deliveries to a fast receiver, four of which have been in flight since time 0. */
function fillLane(lanes: DeliveryLanes): LeasedDelivery[] {
  attempt(lanes, 1n, 999);
  const leased = Array.from({ length: 32 }, () => loaded(1n));
  for (const one of leased) lanes.add(one);
  for (let at = 0; at < 5; at++) lanes.next(1n, 0);
  return leased.map(({ delivery }) => delivery);
}

test('queued deliveries do not take up room for other webhooks', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  lanes.add(loaded(2n, 2));
  expect([lanes.room, lanes.held]).toEqual([96, { '1': 0, '2': 3 }]);
});

test('the deliveries queued for a previously fast receiver are released after a second without a response', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  expect(lanes.withdrawSlow(999)).toEqual([]);
  expect(lanes.withdrawSlow(1_000)).toHaveLength(28);
  expect([lanes.waiting, lanes.held]).toEqual([[], { '1': 0 }]);
});

test('after a slow response, a receiver keeps no more queued deliveries than can be in flight', () => {
  const lanes = new DeliveryLanes();
  const [first] = fillLane(lanes) as [LeasedDelivery];
  expect(lanes.end(first, 1_000, 0)).toHaveLength(27);
  expect([lanes.next(1n, 0), lanes.next(1n, 0)]).toEqual([expect.anything(), undefined]);
});

test('at most 100 requests are in flight, and other deliveries start as requests end', () => {
  const lanes = new DeliveryLanes();
  for (let id = 1n; id <= 26n; id++) for (let at = 0; at < 4; at++) lanes.add(loaded(id, Number(id)));
  const started = () =>
    Array.from({ length: 26 }, (_, at) => lanes.next(BigInt(at + 1), 0)).filter((one) => one !== undefined);
  const [first] = started() as [Loaded];
  expect([2, 3, 4].map(() => started().length)).toEqual([26, 26, 22]);
  expect([lanes.room, lanes.waiting, started()]).toEqual([0, [23n, 24n, 25n, 26n], []]);
  lanes.end(first.delivery, 0, 0);
  expect(started()).toHaveLength(1);
});
