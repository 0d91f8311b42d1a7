import { expect, test } from 'bun:test';
import { backupRounds } from './backup-rounds.ts';

test('a backup under load has every animal acknowledged before it began, despite kill -9', async () => {
  const figures = await backupRounds({ rounds: 3, seed: 1 });
  expect(figures.restored).toBeGreaterThanOrEqual(figures.acknowledgedBefore);
});
