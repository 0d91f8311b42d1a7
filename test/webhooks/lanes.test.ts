/** Fast receivers, for which more deliveries are leased at once. */
import { expect, test } from 'bun:test';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import { DeliveryLanes } from '../../src/webhooks/delivery-lanes.ts';

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

/** Adds, starts and ends an attempt. */
function attempt(lanes: DeliveryLanes, webhookId: bigint, isFast: boolean): void {
  lanes.add(loaded(webhookId));
  lanes.next(webhookId, 0);
  lanes.end(webhookId, isFast, 0);
}

test('a receiver counts as fast, even while idle, until an attempt is slow', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, true);
  attempt(lanes, 2n, false);
  expect([lanes.fast, lanes.held]).toEqual([[1n], {}]);
  attempt(lanes, 1n, false);
  expect(lanes.fast).toEqual([]);
});

test('at most 32 deliveries to a fast receiver are leased, including those in flight', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, true);
  lanes.add(loaded(1n));
  lanes.add(loaded(2n));
  expect([lanes.fast, lanes.held]).toEqual([[], { '1': 31, '2': 3 }]);
});

test('no more deliveries of a webhook are leased than there is room for', () => {
  const lanes = new DeliveryLanes();
  attempt(lanes, 1n, true);
  for (let id = 1n; id <= 98n; id++) {
    lanes.add(loaded(id));
    lanes.next(id, 0);
  }
  expect([lanes.room, lanes.held['1']]).toEqual([2, 2]);
  for (let id = 99n; id <= 100n; id++) {
    lanes.add(loaded(id));
    lanes.next(id, 0);
  }
  expect([lanes.room, lanes.held['1']]).toEqual([0, 0]);
});

test('only the 100 most recent fast receivers are remembered', () => {
  const lanes = new DeliveryLanes();
  for (let id = 1n; id <= 101n; id++) attempt(lanes, id, true);
  attempt(lanes, 2n, true);
  attempt(lanes, 102n, true);
  expect([lanes.fast.length, lanes.fast.at(0), lanes.fast.at(-1)]).toEqual([100, 4n, 102n]);
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
function fillLane(lanes: DeliveryLanes): void {
  attempt(lanes, 1n, true);
  for (let at = 0; at < 32; at++) lanes.add(loaded(1n));
  for (let at = 0; at < 5; at++) lanes.next(1n, 0);
}

test('queued deliveries do not take up room for other webhooks, and an account has at most 32 leases', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  lanes.add(loaded(2n, 2));
  expect([lanes.room, lanes.held, lanes.heldOfAccounts]).toEqual([
    96,
    { '1': 0, '2': 3 },
    { '1': 0, '2': 31 },
  ]);
});

test('the deliveries queued for a previously fast receiver are released after a second without a response', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  expect(lanes.withdrawStalled(999)).toEqual([]);
  expect(lanes.withdrawStalled(1_000)).toHaveLength(28);
  expect([lanes.waiting, lanes.held, lanes.heldOfAccounts]).toEqual([[], { '1': 0 }, { '1': 28 }]);
});

test('after a slow response, a receiver keeps no more queued deliveries than can be in flight', () => {
  const lanes = new DeliveryLanes();
  fillLane(lanes);
  expect(lanes.end(1n, false, 0)).toHaveLength(27);
  expect([lanes.next(1n, 0), lanes.next(1n, 0)]).toEqual([expect.anything(), undefined]);
});

test('at most 100 requests are in flight, and other deliveries start as requests end', () => {
  const lanes = new DeliveryLanes();
  for (let id = 1n; id <= 26n; id++) for (let at = 0; at < 4; at++) lanes.add(loaded(id, Number(id)));
  const started = () => Array.from({ length: 26 }, (_, at) => lanes.next(BigInt(at + 1), 0)).filter(Boolean);
  expect([1, 2, 3, 4].map(() => started().length)).toEqual([26, 26, 26, 22]);
  expect([lanes.room, lanes.waiting, started()]).toEqual([0, [23n, 24n, 25n, 26n], []]);
  lanes.end(1n, true, 0);
  expect(started()).toHaveLength(1);
});
