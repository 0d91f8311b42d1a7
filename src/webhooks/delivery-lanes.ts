/** The deliveries leased by a process, grouped by webhook: up to four in flight, and the rest queued. */
import {
  type LeasedDelivery,
  type LeaseLimits,
  leaseLimitsAt,
  maxInFlight,
  maxLeasedTotal,
} from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: LeasedDelivery;
  /** The event to send, as a request body; undefined if the event has expired. */
  readonly body: string | undefined;
}

interface Lane {
  readonly accountId: number;
  /** The attempts in flight with their start (Unix ms), earliest first. */
  readonly inFlight: Map<LeasedDelivery, number>;
  readonly waiting: Loaded[];
}

/** More deliveries are leased in advance for a receiver that responds within this time. */
const fastMs = 1_000;
/** Maximum number of fast receivers that are remembered. In every round, the store compares webhooks with them. */
const maxFast = 1_000;
/**
 * While room is scarce, receivers that respond within this time count as fast. This is more than `fastMs`, because a
 * busy process takes longer to read a response. An account with a slower receiver loses its preference.
 */
const stalledMs = 3_000;
/** Duration of this loss. */
const distrustMs = 300_000;
/** Maximum number of such accounts that are remembered. */
const maxStalled = 10_000;
/** Maximum number of suspended webhooks. Every query for due deliveries lists them all. */
const maxSuspended = 1_000;

export class DeliveryLanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks whose last attempt succeeded within three seconds, in order of that attempt. Remembered even when no
   * deliveries are leased, because otherwise no more than four would ever be leased at a time.
   */
  readonly #fast = new Map<bigint, { readonly accountId: number; readonly milliseconds: number }>();
  /** Accounts with slower receivers, and the time until which they count as such (Unix ms), earliest first. */
  readonly #stalled = new Map<number, number>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();
  #inFlight = 0;
  /** Number of deliveries in flight or queued. */
  #taken = 0;

  /** Queued deliveries do not take up the capacity of other webhooks. */
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
    const { limits } = this;
    const fast = new Set(this.fast);
    const rooms = [...this.#lanes].map(([id, lane]) => {
      const most = (fast.has(id) ? limits.fastWebhook : limits.webhook) - taken(lane);
      return [id, Math.max(0, most)];
    });
    return Object.fromEntries([...rooms, ...[...this.#suspended.keys()].map((id) => [id, 0])]);
  }

  /** Number of additional deliveries that can be leased, by account. Omits accounts without leases. */
  get heldOfAccounts(): Record<string, number> {
    return roomsOfAccounts([...this.#lanes.values()], this.limits.account);
  }

  /** Number of additional deliveries to webhooks that are not fast. Omits accounts without such leases. */
  get heldOfOthers(): Record<string, number> {
    const fast = new Set(this.fast);
    const others = [...this.#lanes].filter(([id]) => !fast.has(id)).map(([, lane]) => lane);
    return roomsOfAccounts(others, this.limits.others);
  }

  /** Webhooks that have a fast receiver. If room is scarce, omits those of accounts that also have slow receivers. */
  get fast(): bigint[] {
    const { others, account } = this.limits;
    const isScarce = others < account;
    return [...this.#fast]
      .filter(([, last]) => (isScarce ? !this.#stalled.has(last.accountId) : last.milliseconds < fastMs))
      .map(([id]) => id);
  }

  /** Webhooks with leased deliveries that are queued. */
  get waiting(): bigint[] {
    return [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([id]) => id);
  }

  /**
   * Removes and returns the queued deliveries of webhooks with a request in flight that has not been answered for a
   * second, however fast others are.
   */
  withdrawStalled(now: number): Loaded[] {
    const slow = [...this.#lanes].filter(([, lane]) => hasWaited(lane, now, fastMs));
    return slow.flatMap(([webhookId, lane]) => {
      if (hasWaited(lane, now, stalledMs)) this.#distrust(lane.accountId, now);
      this.#remember(webhookId, lane, stalledMs);
      return this.withdraw(webhookId, () => false);
    });
  }

  #remember(webhookId: bigint, { accountId }: Lane, milliseconds: number): void {
    this.#fast.delete(webhookId);
    if (milliseconds < stalledMs) this.#fast.set(webhookId, { accountId, milliseconds });
    deleteOldest(this.#fast, maxFast);
  }

  #distrust(accountId: number, now: number): void {
    this.#stalled.delete(accountId);
    this.#stalled.set(accountId, now + distrustMs);
    deleteOldest(this.#stalled, maxStalled);
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

  /** Ends the suspensions, and the exclusions from reserved places, that expire by `now` (Unix ms). */
  resume(now: number): void {
    deleteUntil(this.#suspended, now);
    deleteUntil(this.#stalled, now);
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
    lane.inFlight.set(loaded.delivery, now);
    this.#inFlight++;
    return loaded;
  }

  /**
   * Called when an attempt has ended. `milliseconds` is `Infinity` if it failed. Returns the queued deliveries that were
   * leased in advance for the receiver, if it was slow.
   */
  end(delivery: LeasedDelivery, milliseconds: number, now: number): Loaded[] {
    const { webhookId } = delivery;
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return [];
    this.#taken--;
    this.#inFlight--;
    lane.inFlight.delete(delivery);
    this.#remember(webhookId, lane, hasWaited(lane, now, fastMs) ? stalledMs : milliseconds);
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
  const [startedAt = now] = inFlight.values();
  return now - startedAt >= milliseconds;
}

/** The parts of a limit per account that these lanes leave. */
function roomsOfAccounts(lanes: readonly Lane[], most: number): Record<string, number> {
  const rooms: Record<string, number> = {};
  for (const lane of lanes)
    rooms[lane.accountId] = Math.max(0, (rooms[lane.accountId] ?? most) - taken(lane));
  return rooms;
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
