/** Fast receivers, for which more deliveries are leased at once. */
import { expect, test } from 'bun:test';
import type { TakenDelivery } from '../../src/domain/delivery.ts';
import { Lanes } from '../../src/webhooks/lanes.ts';

const loaded = (webhookId: bigint) => {
  const webhook = {
    webhookId,
    accountId: 1,
    url: '',
    secret: '',
    formerSecret: null,
    formerSecretUntil: null,
  };
  const delivery: TakenDelivery = {
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
function attempt(lanes: Lanes, webhookId: bigint, isFast: boolean): void {
  lanes.add(loaded(webhookId));
  lanes.next(webhookId);
  lanes.end(webhookId, isFast);
}

test('a receiver counts as fast, even while idle, until an attempt is slow', () => {
  const lanes = new Lanes();
  attempt(lanes, 1n, true);
  attempt(lanes, 2n, false);
  expect([lanes.fast, lanes.held]).toEqual([[1n], {}]);
  attempt(lanes, 1n, false);
  expect(lanes.fast).toEqual([]);
});

test('at most 64 deliveries to a fast receiver are leased, including those in flight', () => {
  const lanes = new Lanes();
  attempt(lanes, 1n, true);
  lanes.add(loaded(1n));
  lanes.add(loaded(2n));
  expect([lanes.fast, lanes.held]).toEqual([[], { '1': 63, '2': 3 }]);
});

test('only the 100 most recent fast receivers are remembered', () => {
  const lanes = new Lanes();
  for (let id = 1n; id <= 101n; id++) attempt(lanes, id, true);
  attempt(lanes, 2n, true);
  attempt(lanes, 102n, true);
  expect([lanes.fast.length, lanes.fast.at(0), lanes.fast.at(-1)]).toEqual([100, 4n, 102n]);
});

test('a suspended webhook gets no deliveries until the suspension ends, and at most 1,000 webhooks are suspended', () => {
  const lanes = new Lanes();
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
