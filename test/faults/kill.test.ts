import { expect, test } from 'bun:test';
import { callersPerAccount } from './kill-load.ts';
import { acknowledgedAtKill, killRounds } from './kill-rounds.ts';

test.each([1, 2])(
  'kill -9 under load loses no acknowledged write, corrupts nothing and keeps counts exact (serving processes: %d)',
  async (workers) => {
    const { acknowledged, mostChargedUnused } = await killRounds({ rounds: 2, seed: 20_270_115, workers });
    expect(acknowledged).toBeGreaterThanOrEqual(2 * acknowledgedAtKill.least);
    // These requests were in flight when the service was killed.
    expect(mostChargedUnused).toBeLessThanOrEqual(callersPerAccount);
  },
);
