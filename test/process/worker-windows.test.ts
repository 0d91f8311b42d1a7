import { expect, setDefaultTimeout, test } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { fillWindows } from './worker-windows.ts';

setDefaultTimeout(testTimeoutMs);

test('workers on one embedded store admit exactly the limit together, and show each value of Remaining once', async () => {
  const { workers } = await fillWindows({ windows: 5, workers: 4 });
  expect(workers).toBe(4);
});
