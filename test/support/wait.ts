/**
 * Timeouts for tests that wait. Their only purpose is to end a hung run. No test depends on their values, so they are
 * far longer than the slowest machine needs.
 */

/** Maximum time to wait for one event. */
export const maxWaitMs = 180_000;
/** Timeout for one test. `timeout.ts` sets it in every test file, because Bun's default of 5 s is too short. */
export const testTimeoutMs = 600_000;

/** Interval between two checks, in ms. Grows with the time already waited, because many checks send requests. */
const lookAgainAfter = (elapsedMs: number) => Math.min(50, Math.max(5, elapsedMs / 10));

/** Resolves with the elapsed milliseconds once the condition is true. Rejects after the timeout. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  withinMs = maxWaitMs,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    const elapsedMs = performance.now() - start;
    if (elapsedMs > withinMs) {
      throw new Error(`The condition was not met within ${withinMs} ms: ${condition}`);
    }
    await Bun.sleep(lookAgainAfter(elapsedMs));
  }
  return performance.now() - start;
}
