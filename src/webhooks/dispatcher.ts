/** Sends the deliveries of a store: leases due deliveries, sends them, and stores the outcomes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Clock } from '../domain/clock.ts';
import {
  type AttemptOutcome,
  type DisableOutcome,
  type DispatchResult,
  type LeasedDelivery,
  type LeaseRequest,
  leaseLimits,
  type SettledDelivery,
} from '../domain/delivery.ts';
import { runAtMultiples } from '../domain/run-at-multiples.ts';
import type { BeginRun, TaskRun } from '../domain/task-run.ts';
import { type DisablingOutcome, evaluateAttempt, type NotSent, reschedule, type Send } from './attempt.ts';
import { RequestsInFlight } from './requests-in-flight.ts';
import type { Outcome } from './send.ts';

/**
 * Duration of a lease. An attempt ends within 15 s, so its outcome is stored long before another process may repeat it.
 */
const leaseMs = 60_000;
/**
 * A lease that ends later than this was obtained before the clock was set back. Twice the duration, because the clocks
 * of processes may differ slightly.
 */
export const maxLeaseMs = 2 * leaseMs;
/** Maximum number of rounds without a reply that are remembered. At most 64 rounds fail until a lease ends. */
const maxLost = 100;
/**
 * Pause after a round that failed: without one, each attempt that ends would start another round. Doubles with each
 * failure in a row, up to `pollEveryMs`, because a store that is full or locked may accept the next round.
 */
const minPauseMs = 100;
/** Minimum remaining time of the lease at the start of an attempt. */
const latestStartMs = 20_000;
/**
 * Time until the next attempt after an internal error, or for a webhook whose secret this process cannot decrypt. Its
 * deliveries stay due, because another process may have the key.
 */
const secretRetryMs = 60_000;
/** Interval between checks while an account has used up its pace. */
const pacedIntervalMs = 100;
/** How long a webhook whose queue of deliveries is full is skipped. Ends early when one of its deliveries ends. */
const skipFullMs = 30_000;
/** Maximum number of webhooks that are skipped. Every round lists them all. */
const maxSkipped = 10_000;
const unselected = 'The webhook no longer selects events of this type.';
/** Time allowed for attempts in flight when the service stops. */
const stopWithinMs = 3_000;

export interface DeliveryStore {
  hasWebhooks(): Awaitable<boolean>;
  /**
   * Called before the first lease, and again after the clock was set back. Releases all leases if no other process sends
   * deliveries, because any remaining leases belong to a crashed process; these deliveries are due later. Makes deliveries
   * due whose times were set before the clock was set back.
   */
  prepare(): Promise<void>;
  dispatch(settled: readonly SettledDelivery[], lease: LeaseRequest): Promise<DispatchResult>;
  /** The request bodies of events. Expired events are omitted. */
  bodies(eventIds: readonly bigint[]): Awaitable<ReadonlyMap<bigint, string>>;
  /**
   * Disables the webhook of a delivery, unless its lease was lost, its URL has changed, a delivery has succeeded at or
   * after `since` (Unix ms), or the webhook was enabled again since.
   */
  disable(
    delivery: LeasedDelivery,
    outcome: Pick<DisablingOutcome, 'reason' | 'since'>,
  ): Promise<DisableOutcome>;
}

interface DispatcherOptions {
  readonly store: DeliveryStore;
  readonly send: Send;
  readonly clock: Clock;
  /** Maximum number of requests in flight. */
  readonly places: number;
  /** Maximum number of deliveries per second and account. */
  readonly perSecond: number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** Makes sure that `wake` is called when there are new events. Called at every check. */
  readonly follow: (wake: () => void) => Awaitable<void>;
  /** Counts attempts by their outcome. */
  readonly count: (outcome: AttemptOutcome, attempts: number) => void;
  readonly notice: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Called at the start of each check and round. A check that wakes the rounds does not report a success. */
  readonly begin: BeginRun;
  /** Interval between checks for due retries, and for events that this process was not notified of. Defaults to 1,000. */
  readonly pollEveryMs?: number | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stopController = new AbortController();
  readonly #pollEveryMs: number;
  readonly #timer: Disposable;
  readonly #requests: RequestsInFlight;
  #settled: SettledDelivery[] = [];
  /** Outcomes of deliveries that another transaction has locked. Every check tries to store them until the lease ends. */
  #locked: SettledDelivery[] = [];
  /** Webhooks whose queues are full, with the time until which they are skipped (monotonic ms). */
  readonly #full = new Map<bigint, number>();
  /**
   * Ends of leases that may have been obtained in rounds without a reply, earliest first. Such a transaction may be committed
   * later, so they are ended in every round until they expire.
   */
  #lost: readonly number[] = [];
  /** The webhook after which the next round continues. */
  #after = 0n;
  #pacedTimer: NodeJS.Timeout | undefined;
  #isWoken = false;
  #running: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #isPrepared = false;
  /** Offset of the clock from the monotonic time at the last check or round, in ms. */
  #aheadMs = Number.NEGATIVE_INFINITY;
  /** Number of rounds that failed in a row. */
  #failed = 0;
  #pauseTimer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#requests = new RequestsInFlight(options.places);
    this.#pollEveryMs = options.pollEveryMs ?? 1_000;
    this.#timer = runAtMultiples(this.#pollEveryMs, this.#check);
    this.#check();
  }

  /** Checks for due deliveries now. */
  readonly wake = (): void => {
    this.#isWoken = !this.#isStopping;
    this.#run();
  };

  /**
   * Stops leasing deliveries, and waits for attempts in flight. Attempts that take too long are aborted and left to
   * other processes.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#timer[Symbol.dispose]();
    clearTimeout(this.#pacedTimer);
    clearTimeout(this.#pauseTimer);
    await this.#finish();
    await Promise.race([this.#idle(), sleep(stopWithinMs, undefined, { ref: false })]);
    this.#stopController.abort();
    await this.#idle();
    await this.#finish();
  }

  /** Does what would have waited: storing outcomes, and ending the leases of rounds without a reply. */
  async #finish(): Promise<void> {
    await this.#running;
    this.#settled.push(...this.#locked.splice(0));
    this.#isWoken = this.#lost.length > 0;
    this.#run();
    await this.#running;
  }

  async #idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  /** Starts a poll, unless one is in progress: preparing a large store takes longer than the interval. */
  readonly #check = (): void => {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
  };

  async #poll(): Promise<void> {
    const { store, follow, begin } = this.#options;
    const run = begin();
    try {
      const hasWebhooks = await store.hasWebhooks();
      if (!hasWebhooks) run.notNeeded();
      if (!hasWebhooks || this.#isStopping) return;
      this.#noticeStep();
      await this.#prepare();
      await follow(this.wake);
      this.#settled.push(...this.#locked.splice(0));
      this.wake();
    } catch (error) {
      // The next check picks up due deliveries.
      run.failed(error);
    }
  }

  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    // Set first, because a round may notice a clock step in the meantime.
    this.#isPrepared = true;
    try {
      await this.#options.store.prepare();
    } catch (error) {
      this.#isPrepared = false;
      throw error;
    }
  }

  /** Prepares again if the clock was set back, because leases and suspensions would end too late. */
  #noticeStep(): void {
    const { clock } = this.#options;
    const aheadMs = clock.now() - clock.steady();
    if (aheadMs < this.#aheadMs - maxLeaseMs) {
      this.#isPrepared = false;
      this.#requests.resume(Number.POSITIVE_INFINITY);
    }
    this.#aheadMs = aheadMs;
  }

  #run(): void {
    const isPaused = this.#pauseTimer !== undefined && !this.#isStopping;
    if (this.#hasWork && !isPaused) this.#running ??= this.#rounds();
  }

  get #hasWork(): boolean {
    return this.#settled.length > 0 || this.#isWoken;
  }

  async #rounds(): Promise<void> {
    let run: TaskRun | undefined;
    try {
      while (this.#hasWork) {
        const startedAt = performance.now();
        run = this.#options.begin();
        const { isMore, hasWorked } = await this.#runRound();
        run.succeeded(hasWorked);
        this.#failed = 0;
        // A redelivery can examine all retained events. Pauses, so that other writes wait for at most one round.
        if (isMore) await sleep(performance.now() - startedAt, undefined, { ref: false });
      }
    } catch (error) {
      run?.failed(error);
      this.#pause();
    } finally {
      this.#running = undefined;
    }
  }

  /** Starts the next round after the pause. */
  #pause(): void {
    if (this.#isStopping) return;
    const ms = Math.min(minPauseMs * 2 ** this.#failed++, this.#pollEveryMs);
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.wake();
    }, ms).unref();
  }

  /**
   * Returns whether there are more events to examine, or more webhooks after a round that found nothing to send, and
   * whether the round leased a delivery or stored an outcome.
   */
  async #runRound(): Promise<Readonly<Record<'isMore' | 'hasWorked', boolean>>> {
    const { store, clock, perSecond, random, count, notice } = this.#options;
    // The clock may be set forward and back between two polls.
    this.#noticeStep();
    const now = clock.now();
    const settled = this.#settled.splice(0, leaseLimits.deliveries);
    this.#isWoken = false;
    this.#requests.resume(now);
    this.#lost = this.#lost.filter((until) => until > now).slice(-maxLost);
    const { facts } = this.#requests;
    const room = this.#isStopping ? 0 : Math.min(facts.free, leaseLimits.deliveries);
    const request = {
      ...facts,
      ...{ now, leasedUntil: now + leaseMs, lost: this.#lost, room, perSecond, after: this.#after },
      ...{ full: this.#listFull(settled), turn: random() },
    };
    const dispatched = await store.dispatch(settled, request).catch((error) => {
      this.#settled.unshift(...settled);
      if (room > 0) this.#lost = [...this.#lost, request.leasedUntil];
      throw error;
    });
    this.#locked.push(
      ...settled.filter(({ id, leasedUntil }) => dispatched.locked.includes(id) && leasedUntil > now),
    );
    for (const id of dispatched.full.slice(0, maxSkipped - this.#full.size))
      this.#full.set(id, clock.steady() + skipFullMs);
    this.#after = dispatched.after;
    if (dispatched.isPaced) this.#wakeLater();
    if (dispatched.expired > 0) {
      notice('events expired before they were sent', { events: dispatched.expired });
      count('expired', dispatched.expired);
    }
    if (dispatched.deliveries.length > 0) await this.#begin(dispatched.deliveries);
    // Without room, the next round begins when an attempt ends, or at the next check.
    const { isMore, isBehind, deliveries, locked } = dispatched;
    if (isMore && this.#requests.free > 0 && !this.#isStopping) this.#isWoken = true;
    return {
      isMore: isBehind || (isMore && deliveries.length === 0),
      hasWorked: deliveries.length > 0 || settled.length > locked.length,
    };
  }

  /** The webhooks to skip in the round that stores these outcomes. */
  #listFull(settled: readonly SettledDelivery[]): bigint[] {
    for (const { webhookId, status } of settled) if (status !== 'pending') this.#full.delete(webhookId);
    const now = this.#options.clock.steady();
    for (const [id, until] of this.#full) if (until <= now) this.#full.delete(id);
    return [...this.#full.keys()];
  }

  #wakeLater(): void {
    if (this.#isStopping) return;
    this.#pacedTimer ??= setTimeout(() => {
      this.#pacedTimer = undefined;
      this.wake();
    }, pacedIntervalMs).unref();
  }

  /** Ends the leases of deliveries that are not in flight. They are due again at once. */
  #releaseLeases(deliveries: readonly LeasedDelivery[]): void {
    const now = this.#options.clock.now();
    this.#settled.push(...deliveries.map((delivery) => reschedule(delivery, now)));
  }

  async #begin(deliveries: readonly LeasedDelivery[]): Promise<void> {
    let bodies: ReadonlyMap<bigint, string>;
    try {
      bodies = await this.#options.store.bodies(deliveries.map(({ eventId }) => eventId));
    } catch (error) {
      this.#releaseLeases(deliveries);
      throw error;
    }
    for (const delivery of deliveries) this.#attempt(delivery, bodies.get(delivery.eventId));
  }

  /** `body` is undefined if the event has expired. */
  #attempt(delivery: LeasedDelivery, body: string | undefined): void {
    this.#requests.begin(delivery);
    const sent = this.#deliver(delivery, body).catch((error) => this.#postpone(delivery, error));
    const attempt = sent.then((milliseconds) => {
      this.#inFlight.delete(attempt);
      this.#requests.end(delivery, milliseconds);
      this.wake();
    });
    this.#inFlight.add(attempt);
  }

  /** An internal error must not end the process, which would send the delivery again after every restart. */
  #postpone(delivery: LeasedDelivery, error: unknown): number {
    const { clock, notice } = this.#options;
    notice('a delivery could not be sent because of an internal error', {
      webhook: String(delivery.webhookId),
      error: String(error),
    });
    this.#settled.push(reschedule(delivery, clock.now() + secretRetryMs));
    return Number.POSITIVE_INFINITY;
  }

  /** Returns the time in which the receiver responded or the attempt failed (ms), or Infinity if nothing was sent. */
  async #deliver(delivery: LeasedDelivery, body: string | undefined): Promise<number> {
    const { store, clock, random } = this.#options;
    const at = clock.now();
    // Skips the attempt if the lease is about to expire, or was released because the clock was set back, because another
    // process may then send the delivery.
    const leftMs = delivery.leasedUntil - at;
    if (leftMs < latestStartMs || leftMs > maxLeaseMs) {
      this.#releaseLeases([delivery]);
      return Number.POSITIVE_INFINITY;
    }
    const outcome = await this.#send(delivery, body, at);
    const now = clock.now();
    const { settled, disabling, counted } = evaluateAttempt(delivery, outcome, {
      ...{ at, now, random: random() },
      secretRetryAt: this.#secretRetryAt(delivery, outcome, now),
    });
    try {
      const effect = disabling === undefined ? 'disabled' : await store.disable(delivery, disabling);
      const stored = effect === 'disabled' ? settled : (disabling?.otherwise[effect] ?? settled);
      this.#settled.push(stored);
      if (counted !== undefined) this.#options.count(stored.status === 'pending' ? 'repeated' : counted, 1);
    } catch {
      // The store has already logged the outage. The delivery is sent again when its lease has expired.
    }
    return counted === undefined || counted === 'expired' ? Number.POSITIVE_INFINITY : outcome.milliseconds;
  }

  /**
   * Returns the time when a delivery is due again if its secret cannot be decrypted. Normally, the webhook is suspended
   * in this process and the delivery is due immediately, because another process may be able to send it. If the webhook
   * cannot be suspended, the delivery is due later.
   */
  #secretRetryAt({ webhookId }: LeasedDelivery, outcome: Outcome | NotSent, now: number): number {
    const later = now + secretRetryMs;
    const isUnreadable = 'error' in outcome && outcome.error === 'secret';
    return isUnreadable && this.#requests.suspend(webhookId, later) ? now : later;
  }

  async #send(delivery: LeasedDelivery, body: string | undefined, at: number): Promise<Outcome | NotSent> {
    if (!delivery.isSelected) return { error: 'unselected', message: unselected, milliseconds: 0 };
    if (body === undefined) return { error: 'expired', message: 'The event has expired.', milliseconds: 0 };
    const { signal } = this.#stopController;
    if (signal.aborted) return { error: 'aborted', message: '', milliseconds: 0 };
    return this.#options.send({ ...delivery, body }, at, signal);
  }
}
