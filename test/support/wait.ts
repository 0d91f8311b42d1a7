/**
 * Timeouts for tests that wait. They only end a hung run and are never part of what a test checks, so they are far
 * longer than the slowest machine needs.
 */

/** Timeout for waiting for one event. */
export const maxWaitMs = 60_000;
/** Timeout of a test. `timeout.ts` sets this timeout in every test file, because Bun's default of 5 s is too short. */
export const testTimeoutMs = 180_000;

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
