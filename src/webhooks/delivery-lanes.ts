/** The deliveries leased by a process, grouped by webhook: up to four in flight, and the rest queued. */
import {
  accountLeaseLimit,
  type LeasedDelivery,
  maxInFlight,
  maxLeasedTotal,
  webhookLeaseLimit,
} from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: LeasedDelivery;
  /** The event to send, as a request body; undefined if the event has expired. */
  readonly body: string | undefined;
}

interface Lane {
  readonly accountId: number;
  inFlight: number;
  /** Time when the last attempt started or ended, in Unix ms. */
  changedAt: number;
  readonly waiting: Loaded[];
}

/** More deliveries are leased in advance for a receiver that responds within this time. */
export const fastMs = 1_000;
/** Maximum number of fast receivers that are remembered. */
const maxFast = 100;
/** Maximum number of suspended webhooks. Every query for due deliveries lists them all. */
const maxSuspended = 1_000;

export class DeliveryLanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks whose last attempt succeeded within a second, in order of that attempt. Remembered even when no deliveries
   * are leased, because otherwise no more than four would ever be leased at a time.
   */
  readonly #fast = new Set<bigint>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();
  #inFlight = 0;
  /** Number of deliveries in flight or queued. */
  #taken = 0;

  /** Queued deliveries do not take up the capacity of other webhooks. */
  get room(): number {
    return Math.min(maxInFlight.perProcess - this.#inFlight, maxLeasedTotal - this.#taken);
  }

  /**
   * Number of additional deliveries that can be leased, by webhook: 0 for suspended webhooks; omitted for other
   * webhooks without leases.
   */
  get held(): Record<string, number> {
    const { room } = this;
    const rooms = [...this.#lanes].map(([id, { inFlight, waiting }]) => {
      const most = webhookLeaseLimit(room, this.#fast.has(id)) - inFlight - waiting.length;
      return [id, Math.max(0, Math.min(room, most))];
    });
    return Object.fromEntries([...rooms, ...[...this.#suspended.keys()].map((id) => [id, 0])]);
  }

  /** Number of additional deliveries that can be leased, by account. Omits accounts without leases. */
  get heldOfAccounts(): Record<string, number> {
    const most = accountLeaseLimit(this.room);
    const rooms: Record<string, number> = {};
    for (const { accountId, inFlight, waiting } of this.#lanes.values())
      rooms[accountId] = Math.max(0, (rooms[accountId] ?? most) - inFlight - waiting.length);
    return rooms;
  }

  /** Webhooks that have a fast receiver and no leased deliveries. */
  get fast(): bigint[] {
    return [...this.#fast].filter((id) => !this.#lanes.has(id));
  }

  /** Webhooks with leased deliveries that are queued. */
  get waiting(): bigint[] {
    return [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([id]) => id);
  }

  /**
   * Removes and returns the queued deliveries of webhooks whose requests in flight have not been answered for a second.
   */
  withdrawStalled(now: number): Loaded[] {
    const stalled = [...this.#lanes].filter(([, { inFlight, waiting, changedAt }]) => {
      return inFlight > 0 && waiting.length > 0 && now - changedAt >= fastMs;
    });
    return stalled.flatMap(([webhookId]) => {
      this.#fast.delete(webhookId);
      return this.withdraw(webhookId, () => false);
    });
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
    if (lane.inFlight + lane.waiting.length === 0) this.#lanes.delete(webhookId);
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

  /** Ends the suspensions that expire by `now` (Unix ms). */
  resume(now: number): void {
    for (const [webhookId, until] of this.#suspended) {
      if (until > now) break;
      this.#suspended.delete(webhookId);
    }
  }

  add(loaded: Loaded): void {
    const { webhookId, accountId } = loaded.delivery;
    const lane = this.#lanes.get(webhookId) ?? { accountId, inFlight: 0, changedAt: 0, waiting: [] };
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
    if (lane === undefined || lane.inFlight === maxInFlight.perWebhook) return undefined;
    if (this.#inFlight === maxInFlight.perProcess) return undefined;
    const loaded = lane.waiting.shift();
    if (loaded === undefined) return undefined;
    lane.inFlight++;
    this.#inFlight++;
    lane.changedAt = now;
    return loaded;
  }

  /**
   * Called when an attempt has ended. Returns the queued deliveries that were leased in advance for the receiver, if it
   * was slow.
   */
  end(webhookId: bigint, isFast: boolean, now: number): Loaded[] {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return [];
    this.#taken--;
    this.#inFlight--;
    lane.inFlight--;
    lane.changedAt = now;
    this.#fast.delete(webhookId);
    if (isFast) this.#fast.add(webhookId);
    if (this.#fast.size > maxFast)
      for (const oldest of this.#fast.values().take(1)) this.#fast.delete(oldest);
    const withdrawn = isFast
      ? []
      : this.withdraw(webhookId, (_, at) => at < maxInFlight.perWebhook - lane.inFlight);
    // The next webhook that starts a queued delivery is the one that has waited longest.
    this.#lanes.delete(webhookId);
    if (lane.inFlight + lane.waiting.length > 0) this.#lanes.set(webhookId, lane);
    return withdrawn;
  }
}
