import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, dayMs, minuteMs } from '../domain/clock.ts';
import type { UsageBounds } from '../storage/admin.ts';
import type { SweptTo } from '../storage/transaction.ts';
import { retentionMs } from './changes/once.ts';
import type { Store } from './units.ts';

const expiryEveryMs = 600_000;
/** How long finished deliveries are retained. */
const deliveriesKeptForMs = 7 * dayMs;

export type SweptStore = Pick<Store, 'events' | 'write'>;

/** Whether events are recorded, and how long they are retained, in ms. */
export interface EventRetention {
  readonly areRecorded: boolean;
  readonly keepMs: number;
}

interface SweeperOptions {
  readonly store: SweptStore;
  readonly clock: Clock;
  readonly events: EventRetention;
}

/**
 * Removes rows that no request returns: expired rows, and the deliveries of deleted webhooks. Each step is a separate
 * unit of work of at most a thousand rows. Several instances may sweep the same store.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #signal: AbortSignal;
  #sweeping: Promise<void> | undefined;
  #nextExpiryAt: number;

  constructor(options: SweeperOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    // Expired rows are not removed right after startup, because all instances of a cluster may start at the same time.
    this.#nextExpiryAt = options.clock.steady() + minuteMs;
  }

  /** Starts a sweep, unless one is in progress. */
  start(): void {
    this.#sweeping ??= this.#sweep()
      // The store has already logged the outage. The next sweep removes the remaining rows.
      .catch(() => undefined)
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
    let swept: SweptTo | null = null;
    await inSteps(async () => {
      swept = (await store.write('sweepWebhooks', swept)) ?? null;
      return swept !== null;
    }, this.#signal);
    if (clock.steady() < this.#nextExpiryAt) return;
    const now = clock.now();
    await inSteps(() => store.write('pruneUsage', usageBounds(now)), this.#signal);
    await inSteps(() => store.write('pruneAnswers', now - retentionMs), this.#signal);
    await inSteps(() => store.write('pruneDeliveries', now - deliveriesKeptForMs), this.#signal);
    const eventsBefore = events.areRecorded ? now - events.keepMs : Number.MAX_SAFE_INTEGER;
    await inSteps(() => store.write('pruneEvents', eventsBefore), this.#signal);
    this.#nextExpiryAt = clock.steady() + expiryEveryMs;
  }
}

/**
 * Repeats a step until it returns false or the signal is aborted. Pauses after each step for as long as it took, so that
 * other writes wait for at most one step.
 */
async function inSteps(step: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const startedAt = performance.now();
    if (!(await step())) return;
    await sleep(performance.now() - startedAt, undefined, { ref: false });
  }
}

function usageBounds(now: number): UsageBounds {
  return {
    minutes: now - 2 * dayMs,
    history: now - 35 * dayMs,
    hours: now - 7 * dayMs,
    days: now - 400 * dayMs,
    reports: now - 7 * dayMs,
    instances: now - dayMs,
  };
}
