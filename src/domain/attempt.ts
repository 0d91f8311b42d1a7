/** One run of a background task. */
export interface Attempt {
  /** `hasWorked` is false if there was nothing to do, which proves nothing: a failing process may hold the row locks. */
  succeeded(hasWorked?: boolean): void;
  failed(error: unknown): void;
}

/** Called at the start of each run of a background task, which then reports its outcome. */
export type BeginAttempt = () => Attempt;

/** For tasks whose failures are not observed. */
export const unobserved: BeginAttempt = () => ({ succeeded: () => undefined, failed: () => undefined });
