/** Which receivers are remembered as fast, so that more of their deliveries are taken at once. */
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
    attempts: '[]',
    createdAt: 0,
    leasedUntil: 0,
  };
  return { delivery, body: '{}' };
};

/** One attempt, from the beginning to the end. */
function attempt(lanes: Lanes, webhookId: bigint, isFast: boolean): void {
  lanes.add(loaded(webhookId));
  lanes.next(webhookId);
  lanes.end(webhookId, isFast);
}

test('a fast receiver is remembered while it has nothing to do, until it is slow', () => {
  const lanes = new Lanes();
  attempt(lanes, 1n, true);
  attempt(lanes, 2n, false);
  expect([lanes.fast, lanes.held]).toEqual([[1n], {}]);
  attempt(lanes, 1n, false);
  expect(lanes.fast).toEqual([]);
});

test('64 are taken of a fast receiver, and those in flight and waiting are among them', () => {
  const lanes = new Lanes();
  attempt(lanes, 1n, true);
  lanes.add(loaded(1n));
  lanes.add(loaded(2n));
  expect([lanes.fast, lanes.held]).toEqual([[], { '1': 63, '2': 3 }]);
});

test('of more than 100 fast receivers, those are remembered that responded last', () => {
  const lanes = new Lanes();
  for (let id = 1n; id <= 101n; id++) attempt(lanes, id, true);
  attempt(lanes, 2n, true);
  attempt(lanes, 102n, true);
  expect([lanes.fast.length, lanes.fast.at(0), lanes.fast.at(-1)]).toEqual([100, 4n, 102n]);
});
