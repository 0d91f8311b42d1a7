/** How many deliveries are leased for each webhook and account, and which receivers count as fast. */
import { expect, test } from 'bun:test';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import { DeliveryLanes, type Loaded } from '../../src/webhooks/delivery-lanes.ts';

const loaded = (webhookId: bigint, accountId = 1) => {
  const webhook = {
    webhookId,
    accountId,
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

/** Starts an attempt of each of this number of other accounts. */
function occupy(lanes: DeliveryLanes, count: number): void {
  for (let at = 1; at <= count; at++) start(lanes, BigInt(1_000 + at), 1_000 + at);
}

test('a receiver counts as fast, even while idle, until an attempt is slow', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  attempt(lanes, 2n, 1_000);
  expect([lanes.fast, lanes.held]).toEqual([[1n], {}]);
  attempt(lanes, 1n, 1_000);
  expect(lanes.fast).toEqual([]);
});

test('at most 32 deliveries to a fast receiver are leased, including those in flight', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  lanes.add(loaded(1n));
  lanes.add(loaded(2n));
  expect([lanes.fast, lanes.held]).toEqual([[1n], { '1': 31, '2': 3 }]);
});

test('fast receivers of an account and others have separate limits, which decrease as more places are occupied', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 999);
  start(lanes, 1n);
  for (let at = 0; at < 4; at++) start(lanes, 2n);
  const left = () => [lanes.heldOfFast['1'], lanes.heldOfOthers['1']];
  expect([lanes.held, ...left()]).toEqual([{ '1': 31, '2': 0 }, 31, 28]);
  occupy(lanes, 45);
  expect([lanes.limits.fast, lanes.limits.others, ...left()]).toEqual([4, 1, 3, 0]);
  occupy(lanes, 30);
  expect([lanes.limits.fast, lanes.limits.others, ...left()]).toEqual([2, 0, 1, 0]);
});

test('while places are scarce, a receiver counts as fast if it responds within three seconds', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 2_999);
  attempt(lanes, 2n, 3_000);
  expect(lanes.fast).toEqual([]);
  occupy(lanes, 50);
  expect(lanes.fast).toEqual([1n]);
});

test('while places are scarce, an account gets fewer for its fast receivers for five minutes after one took three seconds', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  attempt(lanes, 2n, 0, 2);
  start(lanes, 3n, 2);
  for (const now of [1_000, 2_000, 3_000]) lanes.withdrawStalled(now);
  expect([lanes.heldOfFast, lanes.heldOfOthers]).toEqual([{ '2': 32 }, { '2': 4 }]);
  occupy(lanes, 50);
  expect([lanes.fast, lanes.heldOfFast]).toEqual([[1n, 2n], { '2': 2 }]);
  occupy(lanes, 30);
  expect([lanes.fast, lanes.heldOfFast]).toEqual([[1n, 2n], { '2': 0 }]);
  lanes.resume(302_999);
  expect(lanes.heldOfFast).toEqual({ '2': 0 });
  lanes.resume(303_000);
  expect(lanes.heldOfFast).toEqual({});
});

test('a pause of the process or a clock step does not make receivers slow', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  start(lanes, 1n);
  lanes.withdrawStalled(1_000);
  attempt(lanes, 2n, 0);
  start(lanes, 2n);
  lanes.withdrawStalled(60_000);
  expect([lanes.fast, lanes.heldOfOthers]).toEqual([[2n], {}]);
  lanes.withdrawStalled(60_999);
  lanes.withdrawStalled(61_000);
  expect(lanes.fast).toEqual([]);
});

test('a request counts against the limit for fast receivers until it ends, even if it is not answered', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  const unanswered = start(lanes, 1n);
  lanes.withdrawStalled(1_000);
  start(lanes, 1n);
  expect([lanes.fast, lanes.heldOfFast, lanes.heldOfOthers]).toEqual([[], { '1': 31 }, { '1': 31 }]);
  lanes.end(unanswered, Number.POSITIVE_INFINITY, 15_000);
  expect([lanes.heldOfFast, lanes.heldOfOthers]).toEqual([{}, { '1': 31 }]);
});

test('a quick response does not make a receiver count as fast while another request has waited for a second', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, 0);
  start(lanes, 1n);
  const other = start(lanes, 1n);
  lanes.withdrawStalled(1_000);
  expect(lanes.fast).toEqual([]);
  lanes.end(other, 1, 1_000);
  expect(lanes.fast).toEqual([]);
});

test('only the 1,000 most recent fast receivers are remembered', () => {
  const lanes = new DeliveryLanes();
  for (let id = 1n; id <= 1_001n; id++) attempt(lanes, id, 999);
  attempt(lanes, 2n, 999);
  attempt(lanes, 1_002n, 999);
  expect([lanes.fast.length, lanes.fast.at(0), lanes.fast.at(-1)]).toEqual([1_000, 4n, 1_002n]);
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

test('queued deliveries do not take up room for other webhooks, and an account has at most 32 leases of fast webhooks and 32 of others', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  lanes.add(loaded(2n, 2));
  expect([lanes.room, lanes.held]).toEqual([96, { '1': 0, '2': 3 }]);
  expect([lanes.heldOfFast, lanes.heldOfOthers]).toEqual([{ '1': 0 }, { '2': 31 }]);
});

test('the deliveries queued for a previously fast receiver are released after a second without a response', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  expect(lanes.withdrawStalled(999)).toEqual([]);
  expect(lanes.withdrawStalled(1_000)).toHaveLength(28);
  expect([lanes.waiting, lanes.held, lanes.heldOfFast]).toEqual([[], { '1': 0 }, { '1': 28 }]);
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
