import { expect, test } from 'bun:test';
import { fatalTroubles, partFailures, troubles } from '../../src/domain/troubles.ts';

const failed = (...found: string[]) =>
  partFailures(found)
    .filter(([, hasFailed]) => hasFailed)
    .map(([part]) => part);

test('every failure marks its part as failed', () => {
  expect(failed()).toEqual([]);
  for (const [part, text] of Object.entries({ ...troubles, ...fatalTroubles })) {
    expect(failed(text)).toContain(part);
  }
});

test('if PostgreSQL and Redis are both unavailable, both are marked as failed', () => {
  expect(failed(fatalTroubles.serversLost)).toEqual(['postgres', 'redis', 'serversLost']);
});
