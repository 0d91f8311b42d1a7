/**
 * Time-outs of waiting tests. They only end a run that hangs. No test proves anything by them, so they far exceed the needs of
 * the slowest machine.
 */

/** For one event. */
export const maxWaitMs = 60_000;
/** For a whole test. `time-out.ts` gives it to every test file: Bun's own 5 s are too short. */
export const testTimeoutMs = 180_000;

const lookAgainMs = 5;

/** Resolves with the elapsed milliseconds when the condition is true. Rejects after the time-out. */
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
