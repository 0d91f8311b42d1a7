import { expect, setDefaultTimeout, test } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { killRounds, leastAcknowledged } from './kill-rounds.ts';

setDefaultTimeout(testTimeoutMs);

test('kill -9 under load loses nothing acknowledged, damages nothing and admits nobody over quota', async () => {
  const { acknowledged, mostChargedUnused } = await killRounds({ rounds: 3, seed: 20_270_115 });
  expect(acknowledged).toBeGreaterThanOrEqual(3 * leastAcknowledged);
  expect(mostChargedUnused).toBeLessThanOrEqual(7);
});
