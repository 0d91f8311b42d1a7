/**
 * How long tests wait for what has to happen. These bounds only end a run that hangs: no test proves anything by
 * them, so they are far beyond what the slowest machine needs.
 */

/** For one event. */
export const maxWaitMs = 60_000;
/** For a whole test. `time-out.ts` gives it to every test file: Bun's own 5 s are too short. */
export const testTimeoutMs = 180_000;

const lookAgainMs = 5;

/** Resolves with the milliseconds it took when the condition holds; rejects when that does not come about. */
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
