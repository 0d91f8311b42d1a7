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
  /** Whether the last attempt succeeded within a second. */
  isFast: boolean;
}

export class Lanes {
  readonly #lanes = new Map<bigint, Lane>();
  /** Deliveries in flight and waiting. */
  #taken = 0;

  get room(): number {
    return mostInFlight.perProcess - this.#taken;
  }

  /** How many more deliveries there is room for, of the webhooks of which there are some. */
  get held(): Record<string, number> {
    const { room } = this;
    const rooms = [...this.#lanes].map(([id, { inFlight, waiting, isFast }]) => {
      return [id, Math.max(0, takenOfWebhook(room, isFast) - inFlight - waiting.length)];
    });
    return Object.fromEntries(rooms);
  }

  add(loaded: Loaded): void {
    const { webhookId } = loaded.delivery;
    const lane = this.#lanes.get(webhookId) ?? { inFlight: 0, waiting: [], isFast: false };
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
    lane.isFast = isFast;
    if (lane.inFlight + lane.waiting.length === 0) this.#lanes.delete(webhookId);
  }
}
