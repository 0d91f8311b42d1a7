import { clusterPlaceOn } from '../storage/cluster-place.ts';
import { compareWithLaw } from '../storage/limits-conformance.ts';
import { type MakePlace, sqlitePlace, strictRules } from '../storage/place.ts';
import { FakeClock } from '../support/clock.ts';
import { testServers } from '../support/servers.ts';
import { openOrThrow, type StressTest } from './stress-test.ts';

const clusterPlace: MakePlace = async (clock, rules) => {
  await using made = new AsyncDisposableStack();
  const servers = made.use(await openOrThrow(testServers));
  const place = made.use(await clusterPlaceOn(servers)(clock, rules));
  const kept = made.move();
  return { ...place, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

export const limitsTests = [
  { name: 'limits', store: 'SQLite', makePlace: sqlitePlace },
  { name: 'cluster-limits', store: 'Redis', makePlace: clusterPlace },
].map(
  ({ name, store, makePlace }): StressTest => ({
    name,
    promise: `the ${store} limiter decides every request of generated sequences according to the rules`,
    rounds: 10_000,
    async run({ rounds, seed, progress }) {
      const clock = new FakeClock();
      await using place = await makePlace(clock, strictRules);
      await using storage = await place.open(true);
      progress(`${rounds} sequences`);
      const limiter = { limits: storage.limits, clock, rules: strictRules };
      return await compareWithLaw(limiter, { sequences: rounds, length: 60, seed });
    },
  }),
);
