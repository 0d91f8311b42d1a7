/** Lines of a receiver's response that take a long time to read would block the whole service. */
import { expect, test } from 'bun:test';
import { start } from '../support/process.ts';

test('each kind of line of a response, at its maximum length, is read in linear time', async () => {
  await using reader = start([process.execPath, 'test/robustness/read-longest-lines.ts']);
  // If reading a line took quadratic time, all lines would take minutes; with cubic time, they would take hours. In
  // both cases, the wait ends first.
  await reader.said(/^read \d+ lines/m);
  expect(await reader.exited).toBe(0);
});
