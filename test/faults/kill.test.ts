import { expect, test } from 'bun:test';
import { killRounds } from './kill-rounds.ts';

test('kill -9 under load loses nothing acknowledged, damages nothing and admits nobody over quota', async () => {
  const { acknowledged, mostChargedUnused } = await killRounds({ rounds: 3, seed: 20_270_115 });
  expect(acknowledged).toBeGreaterThan(100);
  expect(mostChargedUnused).toBeLessThanOrEqual(7);
}, 30_000);
