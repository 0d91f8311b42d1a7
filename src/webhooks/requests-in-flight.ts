/** The requests of a process to receivers, and which receivers did not respond. */
import type { LeasedDelivery, LeaseRequest } from '../domain/delivery.ts';

/** A receiver whose last attempt took this time is stalled, in ms. */
const stalledMs = 10_000;
/** Maximum number of stalled webhooks that are remembered, and of suspended ones. Every round lists them all. */
const maxRemembered = 1_000;

export class RequestsInFlight {
  readonly #requests = new Map<bigint, { readonly accountId: number; count: number }>();
  /** Number of requests that may be added. */
  #free: number;
  /** Webhooks that have a stalled receiver, in order of the last attempt. */
  readonly #stalled = new Set<bigint>();
  /** Suspended webhooks with the end of their suspension (Unix ms), earliest first. */
  readonly #suspended = new Map<bigint, number>();

  constructor(places: number) {
    this.#free = places;
  }

  get free(): number {
    return this.#free;
  }

  /** The part of a `LeaseRequest` that depends on requests. */
  get facts(): Pick<LeaseRequest, 'free' | 'inFlight' | 'stalled' | 'suspended'> {
    return {
      free: this.#free,
      inFlight: [...this.#requests].map(([webhookId, requests]) => ({ webhookId, ...requests })),
      stalled: [...this.#stalled],
      suspended: [...this.#suspended.keys()],
    };
  }

  begin({ webhookId, accountId }: Pick<LeasedDelivery, 'webhookId' | 'accountId'>): void {
    const requests = this.#requests.get(webhookId) ?? { accountId, count: 0 };
    requests.count++;
    this.#free--;
    this.#requests.set(webhookId, requests);
  }

  /** `milliseconds` is the time in which the attempt succeeded or failed; `Infinity` if nothing was sent. */
  end({ webhookId }: Pick<LeasedDelivery, 'webhookId'>, milliseconds: number): void {
    const requests = this.#requests.get(webhookId);
    if (requests === undefined) return;
    requests.count--;
    this.#free++;
    if (requests.count === 0) this.#requests.delete(webhookId);
    if (!Number.isFinite(milliseconds)) return;
    this.#stalled.delete(webhookId);
    if (milliseconds >= stalledMs) this.#stalled.add(webhookId);
    if (this.#stalled.size > maxRemembered)
      for (const oldest of this.#stalled.keys().take(1)) this.#stalled.delete(oldest);
  }

  /**
   * Stops leasing deliveries of a webhook until the given time (Unix ms). Returns false if too many webhooks are
   * suspended.
   */
  suspend(webhookId: bigint, until: number): boolean {
    if (this.#suspended.size >= maxRemembered && !this.#suspended.has(webhookId)) return false;
    this.#suspended.delete(webhookId);
    this.#suspended.set(webhookId, until);
    return true;
  }

  /** Ends the suspensions that expire by `now` (Unix ms). */
  resume(now: number): void {
    for (const [id, until] of this.#suspended) {
      if (until > now) break;
      this.#suspended.delete(id);
    }
  }
}
