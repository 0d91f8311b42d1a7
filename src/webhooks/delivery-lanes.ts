/** The deliveries leased by a process, grouped by webhook: up to four in flight, and the rest queued. */
import {
  type LeasedDelivery,
  maxInFlight,
  maxLeasedTotal,
  maxWebhookLeases,
  type Pool,
  pools,
} from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: LeasedDelivery;
  /** The event to send, as a request body; undefined if the event has expired. */
  readonly body: string | undefined;
}

interface Attempt {
  /** Unix ms. Reset after a pause of this process or a clock step, which would make receivers look slow. */
  startedAt: number;
}

interface Lane {
  readonly accountId: number;
  /** The attempts in flight, earliest first. */
  readonly inFlight: Map<LeasedDelivery, Attempt>;
  readonly waiting: Loaded[];
}

/** More deliveries are leased in advance for a receiver that responds within this time. */
const fastMs = 1_000;
/** Maximum number of receivers of each speed that are remembered. Every round lists them all. */
const maxRemembered = 1_000;
/** A request to a fast or slow receiver that was not answered for this time makes the account distrusted. */
const distrustedAfterMs = 3_000;
const distrustMs = 300_000;
const knownPools: readonly Pool[] = ['fast', 'slow'];
/** A receiver whose last attempt took this time is stalled. */
const stalledMs = 10_000;
/** The dispatcher searches for slow webhooks at least every second, unless the process or the store is held up. */
const maxCheckIntervalMs = 2_500;
/** Maximum number of distrusted accounts that are remembered. Every round lists them all. */
const maxDistrusted = 1_000;
/** An account counts as active for this time after the start of a request, which may take as long. */
const activeMs = 15_000;
const maxActive = 1_000;
/** Maximum number of suspended webhooks. Every query for due deliveries lists them all. */
const maxSuspended = 1_000;

export class DeliveryLanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks that have a fast receiver, in order of the last attempt. Remembered even when no deliveries are leased,
   * because otherwise no more than four would ever be leased at a time.
   */
  readonly #fast = new Set<bigint>();
  /** Webhooks that have a slow receiver, in order of the last attempt. */
  readonly #slow = new Set<bigint>();
  /** Webhooks that have a stalled receiver, in order of the last attempt. */
  readonly #stalled = new Set<bigint>();
  /** Distrusted accounts with the time until which they are distrusted (Unix ms), earliest first. */
  readonly #distrusted = new Map<number, number>();
  /** Accounts with the time of their last request (Unix ms), earliest first. */
  readonly #active = new Map<number, number>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();
  /** Time of the last search for slow webhooks, in Unix ms. */
  #checkedAt = 0;
  #inFlight = 0;
  /** Number of deliveries in flight or queued. */
  #taken = 0;

  /** Up to 200 queued deliveries do not take up the capacity of other webhooks. */
  get room(): number {
    return Math.min(maxInFlight.perProcess - this.#inFlight, maxLeasedTotal - this.#taken);
  }

  /** The leases of this process, and what it knows about receivers. */
  get leases() {
    const { room: free, inFlight, held, used, waiting } = this;
    const receivers = {
      fast: [...this.#fast],
      slow: [...this.#slow],
      stalled: [...this.#stalled],
      distrusted: [...this.#distrusted.keys()],
    };
    return { free, inFlight, held, used, waiting, activeAccounts: this.#active.size, ...receivers };
  }

  /** Number of requests in flight. */
  get inFlight(): Record<Pool, number> {
    const inFlight = { fast: 0, slow: 0, new: 0, stalled: 0 };
    for (const lane of this.#lanes.values()) for (const { pool } of lane.inFlight.keys()) inFlight[pool]++;
    return inFlight;
  }

  /**
   * Number of additional deliveries that can be leased, by webhook: 0 for suspended webhooks; omitted for other
   * webhooks without leases.
   */
  get held(): Record<string, number> {
    const rooms = [...this.#lanes].map(([id, lane]) => {
      const most = maxWebhookLeases(this.#poolOf(id));
      return [id, Math.max(0, most - taken(lane))];
    });
    return Object.fromEntries([...rooms, ...[...this.#suspended.keys()].map((id) => [id, 0])]);
  }

  #poolOf(webhookId: bigint): Pool {
    if (this.#fast.has(webhookId)) return 'fast';
    if (this.#slow.has(webhookId)) return 'slow';
    return this.#stalled.has(webhookId) ? 'stalled' : 'new';
  }

  /**
   * Number of leased deliveries, by account. A delivery stays in the pool in which it was leased, so that a fast receiver
   * that hangs frees no place for another fast one.
   */
  get used(): Record<Pool, Record<number, number>> {
    const used: Record<Pool, Record<number, number>> = { fast: {}, slow: {}, new: {}, stalled: {} };
    for (const { accountId, inFlight, waiting } of this.#lanes.values())
      for (const { pool } of [...inFlight.keys(), ...waiting.map(({ delivery }) => delivery)])
        used[pool][accountId] = (used[pool][accountId] ?? 0) + 1;
    return used;
  }

  /** Webhooks with leased deliveries that are queued. */
  get waiting(): bigint[] {
    return [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([id]) => id);
  }

  /**
   * Removes and returns the queued deliveries of webhooks with a request that has been unanswered for a second, which
   * makes them slow. After three seconds, their accounts are distrusted.
   */
  withdrawSlow(now: number): Loaded[] {
    if (Math.abs(now - this.#checkedAt) > maxCheckIntervalMs) this.#restartTimes(now);
    this.#checkedAt = now;
    const slow = [...this.#lanes].filter(([, lane]) => hasWaited(lane, now, fastMs));
    return slow.flatMap(([webhookId, lane]) => {
      if (hasWaited(lane, now, distrustedAfterMs, knownPools)) this.#distrust(lane.accountId, now);
      if (this.#fast.delete(webhookId)) this.#slow.add(webhookId);
      deleteOldest(this.#slow, maxRemembered);
      return this.withdraw(webhookId, () => false);
    });
  }

  #restartTimes(now: number): void {
    for (const { inFlight } of this.#lanes.values())
      for (const attempt of inFlight.values()) attempt.startedAt = now;
  }

  #remember(webhookId: bigint, lane: Lane, milliseconds: number, now: number): void {
    for (const receivers of [this.#fast, this.#slow, this.#stalled]) receivers.delete(webhookId);
    const isFast = milliseconds < fastMs && !hasWaited(lane, now, fastMs);
    const receivers = isFast ? this.#fast : milliseconds < stalledMs ? this.#slow : this.#stalled;
    receivers.add(webhookId);
    deleteOldest(receivers, maxRemembered);
  }

  #distrust(accountId: number, now: number): void {
    this.#distrusted.delete(accountId);
    this.#distrusted.set(accountId, now + distrustMs);
    deleteOldest(this.#distrusted, maxDistrusted);
  }

  /** Removes and returns the queued deliveries of a webhook that do not satisfy the condition. */
  withdraw(webhookId: bigint, isKept: (loaded: Loaded, at: number) => boolean): Loaded[] {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return [];
    const { true: kept = [], false: removed = [] } = Object.groupBy(
      lane.waiting,
      (one, at) => `${isKept(one, at)}`,
    );
    lane.waiting.splice(0, lane.waiting.length, ...kept);
    this.#taken -= removed.length;
    if (taken(lane) === 0) this.#lanes.delete(webhookId);
    return removed;
  }

  /**
   * Stops leasing deliveries of a webhook until the given time (Unix ms). Returns false if too many webhooks are
   * suspended.
   */
  suspend(webhookId: bigint, until: number): boolean {
    if (this.#suspended.size >= maxSuspended && !this.#suspended.has(webhookId)) return false;
    this.#suspended.delete(webhookId);
    this.#suspended.set(webhookId, until);
    return true;
  }

  /** Ends the suspensions and the distrust that expire by `now` (Unix ms). */
  resume(now: number): void {
    deleteUntil(this.#suspended, now);
    deleteUntil(this.#distrusted, now);
    deleteUntil(this.#active, now - activeMs);
  }

  add(loaded: Loaded): void {
    const { webhookId, accountId } = loaded.delivery;
    const lane: Lane = this.#lanes.get(webhookId) ?? { accountId, inFlight: new Map(), waiting: [] };
    this.#lanes.set(webhookId, lane);
    lane.waiting.push(loaded);
    this.#taken++;
  }

  /**
   * Removes and returns the next queued delivery of a webhook. Returns undefined while the webhook or the process has its
   * maximum number of requests in flight.
   */
  next(webhookId: bigint, now: number): Loaded | undefined {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined || lane.inFlight.size === maxInFlight.perWebhook) return undefined;
    if (this.#inFlight === maxInFlight.perProcess) return undefined;
    const loaded = lane.waiting.shift();
    if (loaded === undefined) return undefined;
    lane.inFlight.set(loaded.delivery, { startedAt: now });
    this.#active.delete(lane.accountId);
    this.#active.set(lane.accountId, now);
    deleteOldest(this.#active, maxActive);
    this.#inFlight++;
    return loaded;
  }

  /**
   * Called when an attempt has ended, successful or not, because a rejection also frees the place.
   * `milliseconds` is `Infinity` if nothing was sent. Returns the queued deliveries that were leased in advance for the
   * receiver, if it was slow.
   */
  end(delivery: LeasedDelivery, milliseconds: number, now: number): Loaded[] {
    const { webhookId } = delivery;
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return [];
    this.#taken--;
    this.#inFlight--;
    lane.inFlight.delete(delivery);
    if (Number.isFinite(milliseconds)) this.#remember(webhookId, lane, milliseconds, now);
    const withdrawn =
      milliseconds < fastMs
        ? []
        : this.withdraw(webhookId, (_, at) => at < maxInFlight.perWebhook - lane.inFlight.size);
    // The next webhook that starts a queued delivery is the one that has waited longest.
    this.#lanes.delete(webhookId);
    if (taken(lane) > 0) this.#lanes.set(webhookId, lane);
    return withdrawn;
  }
}

const taken = ({ inFlight, waiting }: Lane) => inFlight.size + waiting.length;

/** Whether a request in flight has not been answered for this time. */
function hasWaited(
  { inFlight }: Lane,
  now: number,
  milliseconds: number,
  of: readonly Pool[] = pools,
): boolean {
  return [...inFlight].some(
    ([{ pool }, { startedAt }]) => of.includes(pool) && now - startedAt >= milliseconds,
  );
}

function deleteOldest<Key>(kept: Map<Key, unknown> | Set<Key>, most: number): void {
  if (kept.size > most) for (const oldest of kept.keys().take(1)) kept.delete(oldest);
}

/** Deletes the entries of a map from ids to times in ascending order, up to this time. */
function deleteUntil<Key>(map: Map<Key, number>, now: number): void {
  for (const [id, until] of map) {
    if (until > now) break;
    map.delete(id);
  }
}
