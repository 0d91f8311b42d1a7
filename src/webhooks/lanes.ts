/** The deliveries leased by a process, grouped by webhook: up to four in flight, and the rest queued. */
import { maxInFlight, type TakenDelivery, takenOfWebhook } from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: TakenDelivery;
  /** The event to send, as a request body; undefined if the event has expired. */
  readonly body: string | undefined;
}

interface Lane {
  inFlight: number;
  readonly waiting: Loaded[];
}

/** Maximum number of fast receivers that are remembered. */
const maxFast = 100;
/** Maximum number of suspended webhooks. Every query for due deliveries lists them all. */
const maxSuspended = 1_000;

export class Lanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks whose last attempt succeeded within a second, in order of that attempt. Remembered even when no deliveries
   * are leased, because otherwise no more than four would ever be leased at a time.
   */
  readonly #fast = new Set<bigint>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();
  /** Number of deliveries in flight or queued. */
  #taken = 0;

  get room(): number {
    return maxInFlight.perProcess - this.#taken;
  }

  /**
   * Number of additional deliveries that can be leased, by webhook: 0 for suspended webhooks; omitted for other
   * webhooks without leases.
   */
  get held(): Record<string, number> {
    const { room } = this;
    const rooms = [...this.#lanes].map(([id, { inFlight, waiting }]) => {
      return [id, Math.max(0, takenOfWebhook(room, this.#fast.has(id)) - inFlight - waiting.length)];
    });
    return Object.fromEntries([...rooms, ...[...this.#suspended.keys()].map((id) => [id, 0])]);
  }

  /** Webhooks that have a fast receiver and no leased deliveries. */
  get fast(): bigint[] {
    return [...this.#fast].filter((id) => !this.#lanes.has(id));
  }

  /** Webhooks with leased deliveries that are queued. */
  get waiting(): bigint[] {
    return [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([id]) => id);
  }

  /** Removes and returns the queued deliveries of a webhook that do not satisfy the condition. */
  withdraw(webhookId: bigint, isKept: (loaded: Loaded) => boolean): Loaded[] {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return [];
    const { true: kept = [], false: removed = [] } = Object.groupBy(lane.waiting, (one) => `${isKept(one)}`);
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
    const { webhookId } = loaded.delivery;
    const lane = this.#lanes.get(webhookId) ?? { inFlight: 0, waiting: [] };
    this.#lanes.set(webhookId, lane);
    lane.waiting.push(loaded);
    this.#taken++;
  }

  /**
   * Removes and returns the next queued delivery of a webhook. Returns undefined while four deliveries are in flight.
   */
  next(webhookId: bigint): Loaded | undefined {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined || lane.inFlight === maxInFlight.perWebhook) return undefined;
    const loaded = lane.waiting.shift();
    if (loaded !== undefined) lane.inFlight++;
    return loaded;
  }

  /** Called when an attempt has ended. */
  end(webhookId: bigint, isFast: boolean): void {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return;
    this.#taken--;
    lane.inFlight--;
    this.#fast.delete(webhookId);
    if (isFast) this.#fast.add(webhookId);
    if (this.#fast.size > maxFast)
      for (const oldest of this.#fast.values().take(1)) this.#fast.delete(oldest);
    if (lane.inFlight + lane.waiting.length === 0) this.#lanes.delete(webhookId);
  }
}
