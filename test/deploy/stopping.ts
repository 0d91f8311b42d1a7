/**
 * Maximum time in seconds from the signal to the exit of the process, as documented in docs/operating.md and tested in
 * test/process/stop.test.ts.
 */
export const longestStopSeconds = 10;
