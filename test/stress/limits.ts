import { compareWithLaw } from '../storage/limits-conformance.ts';
import { type MakePlace, sqlitePlace, strictRules } from '../storage/place.ts';
import { FakeClock } from '../support/clock.ts';
import type { StressTest } from './stress-test.ts';

export function limitsTest(name: string, store: string, makePlace: MakePlace): StressTest {
  return {
    name,
    promise: `the limiter of ${store} answers every request of generated sequences as the rules do`,
    rounds: 10_000,
    async run({ rounds, seed, progress }) {
      const clock = new FakeClock();
      await using place = await makePlace(clock, strictRules);
      await using storage = await place.open(true);
      progress(`${rounds} sequences`);
      const limiter = { limits: storage.limits, clock, rules: strictRules };
      return await compareWithLaw(limiter, { sequences: rounds, length: 60, seed });
    },
  };
}

export const limits = limitsTest('limits', 'SQLite', sqlitePlace);
