import { expect, test } from 'bun:test';
import { RequestsInFlight } from '../../src/webhooks/requests-in-flight.ts';

const to = (webhookId: bigint, accountId = 1) => ({ webhookId, accountId });

/** Makes an attempt that ends within this time. */
function attempt(requests: RequestsInFlight, webhookId: bigint, milliseconds: number): void {
  requests.begin(to(webhookId));
  requests.end(to(webhookId), milliseconds);
}

test('requests are counted by webhook until they end, and occupy places', () => {
  const requests = new RequestsInFlight(9);
  for (const one of [to(1n), to(1n), to(2n, 7)]) requests.begin(one);
  expect([requests.facts.free, requests.facts.inFlight]).toEqual([
    6,
    [
      { webhookId: 1n, accountId: 1, count: 2 },
      { webhookId: 2n, accountId: 7, count: 1 },
    ],
  ]);
  requests.end(to(1n), 1);
  requests.end(to(2n), Number.POSITIVE_INFINITY);
  expect([requests.facts.free, requests.facts.inFlight]).toEqual([
    8,
    [{ webhookId: 1n, accountId: 1, count: 1 }],
  ]);
});

test('a receiver whose last attempt took ten seconds is stalled, and the 1,000 most recent ones are remembered', () => {
  const requests = new RequestsInFlight(9);
  attempt(requests, 1n, 10_000);
  attempt(requests, 2n, 9_999);
  attempt(requests, 3n, 10_000);
  attempt(requests, 3n, Number.POSITIVE_INFINITY);
  expect(requests.facts.stalled).toEqual([1n, 3n]);
  attempt(requests, 1n, 9_999);
  expect(requests.facts.stalled).toEqual([3n]);
  for (let id = 4n; id <= 1_003n; id++) attempt(requests, id, 15_000);
  const { stalled } = requests.facts;
  expect([stalled.length, stalled[0], stalled.at(-1)]).toEqual([1_000, 4n, 1_003n]);
});

test('a webhook is suspended until the suspension ends, and at most 1,000 are suspended', () => {
  const requests = new RequestsInFlight(9);
  expect(requests.suspend(1n, 60)).toBe(true);
  requests.resume(59);
  expect(requests.facts.suspended).toEqual([1n]);
  requests.resume(60);
  expect(requests.facts.suspended).toEqual([]);
  for (let id = 1n; id <= 1_000n; id++) expect(requests.suspend(id, 60)).toBe(true);
  expect([requests.suspend(1_001n, 60), requests.suspend(1n, 61)]).toEqual([false, true]);
});
