/** From the signal to the end of the process at most: docs/operating.md promises it, and test/process/stop.test.ts holds it. */
export const longestStopSeconds = 10;
