/** The tasks of a process in the background, and their failures. */
import type { Clock } from '../domain/clock.ts';
import { type Trouble, troubles } from '../domain/troubles.ts';
import { BackgroundTask } from '../outages/background-task.ts';
import type { Notify } from '../outages/outage.ts';

/** A task that runs at least every second. */
const frequentMs = 10_000;
/** A task that runs every ten seconds. */
const rareMs = 60_000;

/** Processes whose statements time out take turns, because the others find all rows locked. */
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
    webhooks: task('sending of webhooks', troubles.webhooks, frequentMs),
    events: task('reading of new events', troubles.events, frequentMs),
    usage: task('recording of usage', troubles.usage, rareMs),
    sweeps: task('removal of old rows', troubles.sweeps, rareMs),
  };
  return { ...tasks, troubles: () => Object.values(tasks).flatMap((each) => each.troubles) };
}
