/**
 * Timeouts of waiting tests. They only end a run that hangs. No test proves anything by them, so they far exceed the needs of
 * the slowest machine.
 */

/** Timeout of a wait for one event. */
export const maxWaitMs = 60_000;
/** Timeout of a test. `timeout.ts` sets it in every test file, because Bun's default of 5 s is too short. */
export const testTimeoutMs = 180_000;

const lookAgainMs = 5;

/** Resolves with the elapsed milliseconds when the condition is true. Rejects after the timeout. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  withinMs = maxWaitMs,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > withinMs) {
      throw new Error(`It did not come about within ${withinMs} ms: ${condition}`);
    }
    await Bun.sleep(lookAgainMs);
  }
  return performance.now() - start;
}
