import { expect, setDefaultTimeout, test } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { backupRounds } from './backup-rounds.ts';

setDefaultTimeout(testTimeoutMs);

test('a backup under load has every animal acknowledged before it began, despite kill -9', async () => {
  const figures = await backupRounds({ rounds: 3, seed: 1 });
  expect(figures.restored).toBeGreaterThanOrEqual(figures.acknowledgedBefore);
});
