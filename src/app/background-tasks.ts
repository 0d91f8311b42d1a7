/** The tasks of a process in the background, and their failures. */
import type { Clock } from '../domain/clock.ts';
import { type Trouble, troubles } from '../domain/troubles.ts';
import { BackgroundTask } from '../outages/background-task.ts';
import type { Notify } from '../outages/outage.ts';

/** How long tasks that run at least every second, or every ten seconds, must have failed before this is reported, in ms. */
const reportAfterMs = { frequent: 10_000, rare: 60_000 } as const;

/**
 * Time without failures after which a task that finds nothing to do counts as recovered. Processes whose statements time
 * out take turns, because the others find all rows locked.
 */
const quietMs = 30_000;

/** Failures of the store that explain failures of its tasks. */
const explanations: readonly string[] = [
  troubles.dataFile,
  troubles.storeFiles,
  troubles.dataDamaged,
  troubles.postgres,
];

export type BackgroundTasks = ReturnType<typeof createBackgroundTasks>;

export function createBackgroundTasks(
  store: { health(): readonly Trouble[] },
  clock: Clock,
  notice: Notify = () => undefined,
) {
  const isStoreUsable = () => {
    try {
      return !store.health().some((found) => explanations.includes(found));
    } catch {
      return false;
    }
  };
  const task = (name: string, trouble: Trouble, afterMs: number) =>
    new BackgroundTask({ name, trouble, afterMs, quietMs, clock, notice, isStoreUsable });
  const tasks = {
    webhooks: task('sending of webhooks', troubles.webhooks, reportAfterMs.frequent),
    events: task('reading of new events', troubles.events, reportAfterMs.frequent),
    usage: task('recording of usage', troubles.usage, reportAfterMs.rare),
    sweeps: task('removal of old rows', troubles.sweeps, reportAfterMs.rare),
  };
  return { ...tasks, troubles: () => Object.values(tasks).flatMap((each) => each.troubles) };
}
