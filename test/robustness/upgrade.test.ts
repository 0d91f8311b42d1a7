/** The test of `npm run stress` about upgrades, with small counts. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { killedUpgrades } from '../stress/upgrade.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

test('the upgrade of a store of version 1.0.0 changes nothing for its clients, and goes on after kill -9', async () => {
  const figures = await killedUpgrades({ animals: 5_000, rounds: 3, seed: 20_301_205, progress: () => {} });
  expect(figures['kills that left it as it was']).toBeGreaterThan(0);
});
