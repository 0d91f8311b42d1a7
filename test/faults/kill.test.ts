import { expect, setDefaultTimeout, test } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { callersPerAccount } from './kill-load.ts';
import { killRounds, leastAcknowledged } from './kill-rounds.ts';

setDefaultTimeout(testTimeoutMs);

for (const workers of [1, 2]) {
  test(`kill -9 under load loses nothing acknowledged, damages nothing and counts exactly, with ${workers} serving`, async () => {
    const { acknowledged, mostChargedUnused } = await killRounds({ rounds: 3, seed: 20_270_115, workers });
    expect(acknowledged).toBeGreaterThanOrEqual(3 * leastAcknowledged);
    // Each of them was under way when the service was killed.
    expect(mostChargedUnused).toBeLessThanOrEqual(callersPerAccount);
  });
}
