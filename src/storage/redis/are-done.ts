import { StorageUnavailable } from '../storage.ts';

/** Waits for Redis commands. Resolves with false if a command failed because Redis is unavailable. */
export async function areDone(work: readonly Promise<unknown>[]): Promise<boolean> {
  const outcomes = await Promise.allSettled(work);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const mistake = reasons.find((reason) => !(reason instanceof StorageUnavailable));
  if (mistake !== undefined) throw mistake;
  return reasons.length === 0;
}
