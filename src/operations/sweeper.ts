import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, dayMs, minuteMs } from '../domain/clock.ts';
import { type BeginRun, unobserved } from '../domain/task-run.ts';
import type { UsageBounds } from '../storage/admin.ts';
import type { SweepPosition } from '../storage/transaction.ts';
import { retentionMs } from './changes/idempotency.ts';
import type { Store } from './units.ts';

const expiryEveryMs = 600_000;
/** Maximum time of one kind of removal in a sweep. The next sweep continues. */
const maxTaskMs = minuteMs;
/** How long ago a step of the clock must have happened before rows expire by the new time. */
const stepTrustedAfterMs = 3_600_000;
/** How long finished deliveries are retained. */
const deliveryRetentionMs = 7 * dayMs;
/** Retention of hourly counts by operation. */
export const historyRetentionMs = 35 * dayMs;
/**
 * How many finished deliveries of each status are retained for a webhook. Within the retention time, the pace of one
 * account allows 30 million.
 */
const maxRetainedDeliveries = 10_000;

export type SweeperStore = Pick<Store, 'events' | 'write'>;

/** Whether events are recorded, and how long they are retained, in ms. */
export interface EventRetention {
  readonly areRecorded: boolean;
  readonly keepMs: number;
}

interface SweeperOptions {
  readonly store: SweeperStore;
  readonly clock: Clock;
  readonly events: EventRetention;
  readonly beginSweep?: BeginRun;
}

/**
 * Removes rows that no request returns any longer: expired rows, the deliveries of deleted webhooks, and the oldest
 * finished deliveries of webhooks that have too many. Each step is a separate
 * unit of work of at most a thousand rows. Several instances may sweep the same store.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #signal: AbortSignal;
  #sweeping: Promise<void> | undefined;
  #nextExpiryAt: number;
  /** How far the clock had been stepped at the last sweep. */
  #steppedMs = 0;

  constructor(options: SweeperOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    // Expired rows are not removed right after startup, because all instances of a cluster may start at the same time.
    this.#nextExpiryAt = options.clock.steady() + minuteMs;
  }

  /** Starts a sweep, unless one is in progress. */
  start(): void {
    if (this.#sweeping !== undefined) return;
    const { beginSweep = unobserved } = this.#options;
    const { succeeded, failed } = beginSweep();
    // After a failure, the next sweep removes the remaining rows.
    this.#sweeping = this.#sweep()
      .then(() => succeeded(), failed)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  async idle(): Promise<void> {
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { store, clock, events } = this.#options;
    // PostgreSQL assigns ids when events are read. Without readers, no event would expire.
    await store.events.bounds();
    await this.#repeatFromPosition<SweepPosition>((after) => store.write('sweepWebhooks', after));
    this.#delayAfterStep();
    if (clock.steady() < this.#nextExpiryAt) return;
    const now = clock.now();
    const eventsBefore = events.areRecorded ? now - events.keepMs : Number.MAX_SAFE_INTEGER;
    const areFinished = [
      await this.#repeat(() => store.write('pruneUsage', usageRetentionBounds(now))),
      await this.#repeat(() => store.write('pruneResponses', clock.storeTime() - retentionMs)),
      await this.#repeat(() => store.write('pruneDeliveries', now - deliveryRetentionMs)),
      await this.#repeatFromPosition<SweepPosition>((after) =>
        store.write('trimDeliveries', { keep: maxRetainedDeliveries, after }),
      ),
      await this.#repeat(() => store.write('pruneEvents', eventsBefore)),
    ];
    if (!areFinished.includes(false)) this.#nextExpiryAt = clock.steady() + expiryEveryMs;
  }

  /**
   * Repeats a step until it returns false; the result is then true. Stops after `maxTaskMs`, because rows that are added
   * faster than they are removed would otherwise prevent all other removals. Pauses after each step for as long as it
   * took, so that other writes wait for at most one step.
   */
  async #repeat(step: () => Promise<boolean>): Promise<boolean> {
    const { clock } = this.#options;
    const endsAt = clock.steady() + maxTaskMs;
    while (!this.#signal.aborted) {
      const startedAt = performance.now();
      if (!(await step())) return true;
      if (clock.steady() >= endsAt) return false;
      await sleep(performance.now() - startedAt, undefined, { ref: false });
    }
    return false;
  }

  /** Repeats a step, passing it the previous outcome, until the outcome is undefined. Each sweep begins at the start. */
  #repeatFromPosition<Position>(
    step: (after: Position | null) => Promise<Position | undefined>,
  ): Promise<boolean> {
    let reached: Position | null = null;
    return this.#repeat(async () => {
      reached = (await step(reached)) ?? null;
      return reached !== null;
    });
  }

  /** Delays expiry after a step of the clock, because a wrong time that is corrected soon would remove everything. */
  #delayAfterStep(): void {
    const { clock } = this.#options;
    const steppedMs = clock.now() - clock.storeTime();
    if (Math.abs(steppedMs - this.#steppedMs) < minuteMs) return;
    this.#steppedMs = steppedMs;
    this.#nextExpiryAt = clock.steady() + stepTrustedAfterMs;
  }
}

function usageRetentionBounds(now: number): UsageBounds {
  return {
    minutes: now - 2 * dayMs,
    history: now - historyRetentionMs,
    hours: now - 7 * dayMs,
    days: now - 400 * dayMs,
    reports: now - 7 * dayMs,
    instances: now - dayMs,
  };
}
