/** The deliveries that a process has taken, by webhook: four in flight, the others wait for those. */
import { mostInFlight, type TakenDelivery, takenOfWebhook } from '../domain/delivery.ts';

export interface Loaded {
  readonly delivery: TakenDelivery;
  /** The event as it is sent; undefined if it has expired. */
  readonly body: string | undefined;
}

interface Lane {
  inFlight: number;
  readonly waiting: Loaded[];
}

/** Fast receivers that are remembered. */
const mostFast = 100;

export class Lanes {
  readonly #lanes = new Map<bigint, Lane>();
  /**
   * Webhooks whose last attempt succeeded within a second, the latest last. They outlive the lanes: a lane that is empty
   * whenever deliveries are taken would never get more than four at once.
   */
  readonly #fast = new Set<bigint>();
  /** Deliveries in flight and waiting. */
  #taken = 0;

  get room(): number {
    return mostInFlight.perProcess - this.#taken;
  }

  /** How many more deliveries there is room for, of the webhooks of which there are some. */
  get held(): Record<string, number> {
    const { room } = this;
    const rooms = [...this.#lanes].map(([id, { inFlight, waiting }]) => {
      return [id, Math.max(0, takenOfWebhook(room, this.#fast.has(id)) - inFlight - waiting.length)];
    });
    return Object.fromEntries(rooms);
  }

  /** The other webhooks whose receivers responded quickly of late. */
  get fast(): bigint[] {
    return [...this.#fast].filter((id) => !this.#lanes.has(id));
  }

  add(loaded: Loaded): void {
    const { webhookId } = loaded.delivery;
    const lane = this.#lanes.get(webhookId) ?? { inFlight: 0, waiting: [] };
    this.#lanes.set(webhookId, lane);
    lane.waiting.push(loaded);
    this.#taken++;
  }

  /** The next delivery of a webhook, in flight from now on; undefined while four are. */
  next(webhookId: bigint): Loaded | undefined {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined || lane.inFlight === mostInFlight.perWebhook) return undefined;
    const loaded = lane.waiting.shift();
    if (loaded !== undefined) lane.inFlight++;
    return loaded;
  }

  /** The end of an attempt. */
  end(webhookId: bigint, isFast: boolean): void {
    const lane = this.#lanes.get(webhookId);
    if (lane === undefined) return;
    this.#taken--;
    lane.inFlight--;
    this.#fast.delete(webhookId);
    if (isFast) this.#fast.add(webhookId);
    if (this.#fast.size > mostFast)
      for (const oldest of this.#fast.values().take(1)) this.#fast.delete(oldest);
    if (lane.inFlight + lane.waiting.length === 0) this.#lanes.delete(webhookId);
  }
}
