/** Sends the deliveries of a store: takes some that are due, makes the attempts, and settles them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Clock } from '../domain/clock.ts';
import type {
  AttemptOutcome,
  SettledDelivery,
  Taken,
  TakenDelivery,
  TakeRequest,
} from '../domain/delivery.ts';
import { type Impossible, judge, type Send } from './attempt.ts';
import { Lanes, type Loaded } from './lanes.ts';
import type { Outcome } from './send.ts';

/** An attempt ends within 15 s, and its outcome is stored long before another process may make it again. */
const leaseMs = 60_000;
/** How long before the end of its lease an attempt begins at the latest. */
const latestStartMs = 20_000;
/** Deliveries of a receiver that responds within this time are taken ahead. */
const fastMs = 1_000;
/** How soon retries are noticed, and events while no process listens to them. */
const lookEveryMs = 1_000;
/** How long attempts in flight may take when the service stops. */
const stopWithinMs = 3_000;

/** The store, as far as sending needs it. */
export interface DeliveryStore {
  hasWebhooks(): Awaitable<boolean>;
  /** Called first, where no other process sends: the leases that are left are those of a process that crashed. */
  readonly release?: () => Promise<unknown>;
  dispatch(settled: readonly SettledDelivery[], take: TakeRequest): Promise<Taken>;
  /** The events as they are sent, without those that have expired. */
  bodies(eventIds: readonly bigint[]): Awaitable<ReadonlyMap<bigint, string>>;
  /** Unless a delivery succeeded since then (Unix ms). */
  disable(webhookId: bigint, reason: string, since: number | undefined): Promise<unknown>;
}

interface DispatcherOptions {
  readonly store: DeliveryStore;
  readonly send: Send;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Calls `wake` when there are new events, from now on. Called again with every look. */
  readonly follow: (wake: () => void) => Awaitable<void>;
  /** Counts attempts by their outcome. */
  readonly count: (outcome: AttemptOutcome, attempts: number) => void;
  readonly notice: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #lanes = new Lanes();
  #settled: SettledDelivery[] = [];
  /** The last webhook of the round before. */
  #after = 0n;
  #isWoken = false;
  #running: Promise<void> | undefined;
  #isReleased = false;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), lookEveryMs).unref();
    void this.#look();
  }

  /** Looks for something to send now. */
  readonly wake = (): void => {
    this.#isWoken = true;
    this.#run();
  };

  /** Takes nothing any more, and lets attempts in flight end; those that take longer are released for other processes. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#running;
    await Promise.race([this.#idle(), sleep(stopWithinMs, undefined, { ref: false })]);
    this.#ending.abort();
    await this.#idle();
    await this.#running;
  }

  async #idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  async #look(): Promise<void> {
    try {
      const { store, follow } = this.#options;
      if (!(await store.hasWebhooks()) || this.#isStopping) return;
      if (!this.#isReleased) await store.release?.();
      this.#isReleased = true;
      await follow(this.wake);
      this.wake();
    } catch {
      // The store has logged its outage; the next look finds what is due.
    }
  }

  #run(): void {
    this.#running ??= this.#rounds();
  }

  async #rounds(): Promise<void> {
    try {
      while (this.#settled.length > 0 || (this.#isWoken && !this.#isStopping)) await this.#round();
    } catch {
      // The store has logged its outage. What could not be settled is settled with the next look.
    } finally {
      this.#running = undefined;
    }
  }

  async #round(): Promise<void> {
    const { store, clock, count, notice } = this.#options;
    const settled = this.#settled;
    this.#settled = [];
    this.#isWoken = false;
    const now = clock.now();
    const room = this.#isStopping ? 0 : this.#lanes.room;
    const { held, fast } = this.#lanes;
    const request = { now, leasedUntil: now + leaseMs, room, after: this.#after, held, fast };
    const taken = await store.dispatch(settled, request).catch((error) => {
      this.#settled.unshift(...settled);
      throw error;
    });
    this.#after = taken.after;
    if (taken.isMore) this.#isWoken = true;
    if (taken.expired > 0) {
      notice('events expired before they were sent', { events: taken.expired });
      count('expired', taken.expired);
    }
    if (taken.deliveries.length > 0) await this.#begin(taken.deliveries);
  }

  async #begin(deliveries: readonly TakenDelivery[]): Promise<void> {
    const bodies = await this.#options.store.bodies(deliveries.map(({ eventId }) => eventId));
    for (const delivery of deliveries) this.#lanes.add({ delivery, body: bodies.get(delivery.eventId) });
    for (const { webhookId } of deliveries) this.#next(webhookId);
  }

  /** Sends what waits for a webhook, as far as it has room. */
  #next(webhookId: bigint): void {
    for (let next = this.#lanes.next(webhookId); next !== undefined; next = this.#lanes.next(webhookId)) {
      const attempt = this.#deliver(next).then((isFast) => {
        this.#inFlight.delete(attempt);
        this.#lanes.end(webhookId, isFast);
        this.#next(webhookId);
        this.wake();
      });
      this.#inFlight.add(attempt);
    }
  }

  /** Never rejects. Returns whether the receiver accepted it quickly. */
  async #deliver({ delivery, body }: Loaded): Promise<boolean> {
    const { store, clock, random } = this.#options;
    const at = clock.now();
    // Another process may make the attempt once the lease has expired.
    if (delivery.leasedUntil - at < latestStartMs) return false;
    const outcome = await this.#send(delivery, body, at);
    const { settled, disabled, counted } = judge(delivery, outcome, {
      at,
      now: clock.now(),
      random: random(),
    });
    try {
      if (disabled !== undefined) await store.disable(settled.webhookId, disabled.reason, disabled.since);
      this.#settled.push(settled);
      if (counted !== undefined) this.#options.count(counted, 1);
    } catch {
      // The store has logged its outage. The attempt is made again when its lease has expired.
    }
    return settled.status === 'succeeded' && outcome.milliseconds < fastMs;
  }

  async #send(delivery: TakenDelivery, body: string | undefined, at: number): Promise<Outcome | Impossible> {
    if (body === undefined) return { error: 'expired', message: 'The event has expired.', milliseconds: 0 };
    const { signal } = this.#ending;
    if (signal.aborted) return { error: 'aborted', message: '', milliseconds: 0 };
    return this.#options.send({ ...delivery, body }, at, signal);
  }
}
