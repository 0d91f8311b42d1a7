/**
 * Timeouts for tests that wait. Their only purpose is to end a hung run. No test depends on their values, so they are
 * far longer than the slowest machine needs.
 */

/** Maximum time to wait for one event. */
export const maxWaitMs = 180_000;
/** Timeout for one test. `timeout.ts` sets it in every test file, because Bun's default of 5 s is too short. */
export const testTimeoutMs = 600_000;

const lookAgainMs = 5;

/** Resolves with the elapsed milliseconds once the condition is true. Rejects after the timeout. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  withinMs = maxWaitMs,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > withinMs) {
      throw new Error(`The condition was not met within ${withinMs} ms: ${condition}`);
    }
    await Bun.sleep(lookAgainMs);
  }
  return performance.now() - start;
}
