/** The deliveries leased by a process, grouped by webhook: up to four in flight, and the rest queued. */
import {
  type LeasedDelivery,
  type LeaseLimits,
  leaseLevels,
  leaseLimitsAt,
  maxInFlight,
  maxLeasedPerFast,
  maxLeasedTotal,
} from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: LeasedDelivery;
  /** The event to send, as a request body; undefined if the event has expired. */
  readonly body: string | undefined;
}

interface Attempt {
  /** Unix ms. Reset after a pause of this process or a clock step, which would make receivers look slow. */
  startedAt: number;
  /** Whether the webhook was fast at the start. A receiver that hangs thus frees no place for another fast one. */
  readonly isFast: boolean;
}

interface Lane {
  readonly accountId: number;
  /** The attempts in flight, earliest first. */
  readonly inFlight: Map<LeasedDelivery, Attempt>;
  readonly waiting: Loaded[];
}

/** More deliveries are leased in advance for a receiver that responds within this time. */
const fastMs = 1_000;
/** Maximum number of fast receivers that are remembered. In every round, the store compares webhooks with them. */
const maxFast = 1_000;
/**
 * While room is scarce, receivers that respond within this time also count as fast, because a busy process takes longer to
 * read responses. They get none of the reserved places. A slower response makes the account distrusted.
 */
const stalledMs = 3_000;
const distrustMs = 300_000;
/** The dispatcher searches for stalled webhooks at least every second, unless the process or the store is held up. */
const maxCheckIntervalMs = 2_500;
/** Maximum number of distrusted accounts that are remembered. Every round lists them all. */
const maxDistrusted = 1_000;
/** Maximum number of suspended webhooks. Every query for due deliveries lists them all. */
const maxSuspended = 1_000;

export class DeliveryLanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks whose last attempt took less than three seconds, in order of that attempt. Remembered even when no
   * deliveries are leased, because otherwise no more than four would ever be leased at a time.
   */
  readonly #fast = new Map<bigint, { readonly accountId: number; readonly milliseconds: number }>();
  /** Distrusted accounts with the time until which they are distrusted (Unix ms), earliest first. */
  readonly #distrusted = new Map<number, number>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();
  /** Time of the last search for stalled webhooks, in Unix ms. */
  #checkedAt = 0;
  #inFlight = 0;
  /** Number of deliveries in flight or queued. */
  #taken = 0;

  /** Up to 200 queued deliveries do not take up the capacity of other webhooks. */
  get room(): number {
    return Math.min(maxInFlight.perProcess - this.#inFlight, maxLeasedTotal - this.#taken);
  }

  get limits(): LeaseLimits {
    return leaseLimitsAt(this.room);
  }

  /**
   * Number of additional deliveries that can be leased, by webhook: 0 for suspended webhooks; omitted for other
   * webhooks without leases.
   */
  get held(): Record<string, number> {
    const rooms = [...this.#lanes].map(([id, lane]) => {
      const most = this.#isFast(id) ? maxLeasedPerFast : maxInFlight.perWebhook;
      return [id, Math.max(0, most - taken(lane))];
    });
    return Object.fromEntries([...rooms, ...[...this.#suspended.keys()].map((id) => [id, 0])]);
  }

  /** Number of additional deliveries to fast webhooks, by account. Omits trusted accounts without such leases. */
  get heldOfFast(): Record<string, number> {
    return this.#roomsOfAccounts('fast');
  }

  /** Number of additional deliveries to other webhooks, by account. Omits trusted accounts without such leases. */
  get heldOfOthers(): Record<string, number> {
    return this.#roomsOfAccounts('others');
  }

  #roomsOfAccounts(pool: 'fast' | 'others'): Record<string, number> {
    const { [pool]: most, distrusted } = this.limits;
    const rooms: Record<string, number> = {};
    for (const accountId of this.#distrusted.keys()) rooms[accountId] = distrusted[pool];
    for (const [webhookId, { accountId, inFlight, waiting }] of this.#lanes) {
      const started = inFlight.values().filter(({ isFast }) => isFast === (pool === 'fast'));
      const isFast = this.#isFast(webhookId);
      const count = [...started].length + (isFast === (pool === 'fast') ? waiting.length : 0);
      if (count > 0) rooms[accountId] = Math.max(0, (rooms[accountId] ?? most) - count);
    }
    return rooms;
  }

  /** Webhooks that have a fast receiver. */
  get fast(): bigint[] {
    return [...this.#fast.keys()].filter((id) => this.#isFast(id));
  }

  #isFast(webhookId: bigint): boolean {
    const { milliseconds = Number.POSITIVE_INFINITY } = this.#fast.get(webhookId) ?? {};
    return milliseconds < (this.limits === leaseLevels[1] ? stalledMs : fastMs);
  }

  /** Webhooks with leased deliveries that are queued. */
  get waiting(): bigint[] {
    return [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([id]) => id);
  }

  /**
   * Removes and returns the queued deliveries of webhooks with a request that has been unanswered for a second, which
   * makes them slow. After three seconds, their accounts are distrusted.
   */
  withdrawStalled(now: number): Loaded[] {
    if (Math.abs(now - this.#checkedAt) > maxCheckIntervalMs) this.#restartTimes(now);
    this.#checkedAt = now;
    const slow = [...this.#lanes].filter(([, lane]) => hasWaited(lane, now, fastMs));
    return slow.flatMap(([webhookId, lane]) => {
      if (hasWaited(lane, now, stalledMs)) this.#distrust(lane.accountId, now);
      this.#remember(webhookId, lane, stalledMs);
      return this.withdraw(webhookId, () => false);
    });
  }

  #restartTimes(now: number): void {
    for (const { inFlight } of this.#lanes.values())
      for (const attempt of inFlight.values()) attempt.startedAt = now;
  }

  #remember(webhookId: bigint, { accountId }: Lane, milliseconds: number): void {
    this.#fast.delete(webhookId);
    if (milliseconds < stalledMs) this.#fast.set(webhookId, { accountId, milliseconds });
    deleteOldest(this.#fast, maxFast);
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
    lane.inFlight.set(loaded.delivery, { startedAt: now, isFast: this.#isFast(webhookId) });
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
    const isSlow = hasWaited(lane, now, fastMs);
    if (isSlow || Number.isFinite(milliseconds))
      this.#remember(webhookId, lane, isSlow ? stalledMs : milliseconds);
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
function hasWaited({ inFlight }: Lane, now: number, milliseconds: number): boolean {
  const [first] = inFlight.values();
  return first !== undefined && now - first.startedAt >= milliseconds;
}

function deleteOldest<Key>(map: Map<Key, unknown>, most: number): void {
  if (map.size > most) for (const oldest of map.keys().take(1)) map.delete(oldest);
}

/** Deletes the entries of a map from ids to times in ascending order, up to this time. */
function deleteUntil<Key>(map: Map<Key, number>, now: number): void {
  for (const [id, until] of map) {
    if (until > now) break;
    map.delete(id);
  }
}
