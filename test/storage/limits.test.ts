import { expect, test } from 'bun:test';
import { FakeClock } from '../support/clock.ts';
import { clusterPlaces } from './cluster-place.ts';
import { compareWithLaw } from './limits-conformance.ts';
import { type MakePlace, sqlitePlace, strictRules } from './place.ts';

const stores: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

/** Results that the sequences must produce. Otherwise the test would prove too little. */
const answers = [
  'admitted',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'api_key_banned',
  'failure',
  'failure refused',
  'refund',
  'lifted',
  'not lifted',
  'bans',
  'peek',
  'standing admitted',
  'standing api_key_banned',
];

for (const [name, makePlace] of Object.entries(stores)) {
  test(`${name} admits or rejects every request according to the rate limit rules`, async () => {
    const clock = new FakeClock();
    await using place = await makePlace(clock, strictRules);
    await using store = await place.open(true);
    const seed = 14;
    const tally = await compareWithLaw(
      { limits: store.limits, clock, rules: strictRules },
      { sequences: 20, length: 60, seed },
    );
    for (const answer of answers) expect([answer, tally[answer] ?? 0]).not.toEqual([answer, 0]);
  });
}
