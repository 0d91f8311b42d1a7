/** One run of a background task. */
export interface Attempt {
  succeeded(): void;
  failed(error: unknown): void;
}

/** Called at the start of each run of a background task, which then reports its outcome. */
export type BeginAttempt = () => Attempt;

/** For tasks whose failures are not observed. */
export const unobserved: BeginAttempt = () => ({ succeeded: () => undefined, failed: () => undefined });
