/** One run of a background task. */
export interface TaskRun {
  /** `hasWorked` is false if there was nothing to do, which proves nothing: a failing process may hold the row locks. */
  succeeded(hasWorked?: boolean): void;
  /** The task has nothing left to do, which ends the report of an earlier failure. */
  notNeeded(): void;
  failed(error: unknown): void;
}

/** Called at the start of each run of a background task, which then reports its outcome. */
export type BeginRun = () => TaskRun;

const ignored = () => undefined;

/** For tasks whose failures are not observed. */
export const unobserved: BeginRun = () => ({ succeeded: ignored, notNeeded: ignored, failed: ignored });
