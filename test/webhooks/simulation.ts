/**
 * Simulates in virtual time how a process sends events to the receivers of many accounts: with the rules for leases, but
 * without a store or requests. Rounds take no time.
 */
import { type LeasedDelivery, type LeaseRequest, leaseLimits, type Pool } from '../../src/domain/delivery.ts';
import type { ReadyWebhook } from '../../src/storage/delivery-row.ts';
import { divideLeases, eligibleAccountsJson, nextRound } from '../../src/storage/lease-rounds.ts';
import { DeliveryLanes, type Loaded } from '../../src/webhooks/delivery-lanes.ts';
import { RoundOrder } from '../../src/webhooks/round-order.ts';
import { randomFrom } from '../support/random.ts';

/** A time-out. */
export const hungMs = 15_000;

/** Duration of a request that begins at this time, in ms; `requests` is the number of earlier ones. */
export type Receiver = (now: number, requests: number) => number;

export interface SimulatedWebhook {
  readonly account: number;
  readonly receiver: Receiver;
  /** Time of the first event (ms). */
  readonly from?: number;
}

interface State extends SimulatedWebhook {
  readonly id: bigint;
  /** Times of the events that have not been sent, earliest first. */
  readonly due: number[];
  /** How late each event was sent, in ms. */
  readonly delays: number[];
  requests: number;
  succeededAt: number;
}

interface Request {
  readonly delivery: LeasedDelivery;
  readonly eventAt: number;
  readonly endsAt: number;
  readonly milliseconds: number;
}

/**
 * Sends an event a second to each webhook. Responses arrive up to `spreadMs` late. Returns how late the events of each were
 * sent, in ms.
 */
export function simulate(
  webhooks: readonly SimulatedWebhook[],
  seconds: number,
  spreadMs: number,
): number[][] {
  const simulation = new Simulation(webhooks, spreadMs);
  simulation.run(seconds * 1_000);
  return simulation.states.map(({ delays }) => delays);
}

class Simulation {
  readonly states: readonly State[];
  readonly #lanes = new DeliveryLanes();
  readonly #random = randomFrom(1);
  readonly #events = new Map<LeasedDelivery, number>();
  readonly #order = new RoundOrder();
  #requests: Request[] = [];
  readonly #spreadMs: number;
  #now = 0;

  constructor(webhooks: readonly SimulatedWebhook[], spreadMs: number) {
    this.#spreadMs = spreadMs;
    this.states = webhooks.map((webhook, at) => {
      return { ...webhook, id: BigInt(at + 1), due: [], delays: [], requests: 0, succeededAt: 0 };
    });
  }

  run(untilMs: number): void {
    while (this.#now < untilMs) {
      if (this.#now % 1_000 === 0)
        for (const { due, from = 0 } of this.states) if (from <= this.#now) due.push(this.#now);
      this.#endRequests();
      while (this.#round());
      const nextSecond = (Math.floor(this.#now / 1_000) + 1) * 1_000;
      this.#now = Math.min(nextSecond, ...this.#requests.map(({ endsAt }) => endsAt));
    }
  }

  #endRequests(): void {
    const ended = this.#requests.filter(({ endsAt }) => endsAt <= this.#now);
    this.#requests = this.#requests.filter(({ endsAt }) => endsAt > this.#now);
    for (const { delivery, milliseconds } of ended) {
      if (milliseconds < hungMs) this.#stateOf(delivery).succeededAt = this.#now;
      this.#release(this.#lanes.end(delivery, milliseconds, this.#now));
    }
    for (const id of this.#lanes.waiting) this.#start(id);
  }

  /** Leases and starts deliveries. Returns whether there may be more. */
  #round(): boolean {
    this.#release(this.#lanes.withdrawSlow(this.#now));
    this.#lanes.resume(this.#now);
    const { leases } = this.#lanes;
    // The pace of accounts is not simulated.
    const times = { now: Date.UTC(2026, 0), leasedUntil: 0, perSecond: 1_000 };
    const request = {
      ...leases,
      ...times,
      ...this.#order.next(leases),
      room: leases.free,
      full: [],
      turn: this.#random(),
    };
    const found = this.#find(request);
    const shares = divideLeases(found, request);
    const leased = found.flatMap(({ id, accountId, pool }) => {
      const { due } = this.#stateById(id);
      const times = due.splice(0, shares.get(id)?.most ?? 0);
      return times.map((eventAt) =>
        this.#lease({ webhookId: id, accountId: Number(accountId), pool }, eventAt),
      );
    });
    const next = nextRound(found, leased, request, { last: 0n, shares });
    for (const delivery of leased) this.#lanes.add({ delivery, body: '' });
    for (const { webhookId } of leased) this.#start(webhookId);
    // Rounds take no time, so turns of fast webhooks that lease nothing need not be left out.
    return this.#order.ended(request, next, 1);
  }

  /** The webhooks that the store finds. */
  #find(request: LeaseRequest): ReadyWebhook[] {
    const rooms: Record<string, number> = JSON.parse(eligibleAccountsJson(request));
    const speeds = {
      fast: new Set(request.fast),
      slow: new Set(request.slow),
      stalled: new Set(request.stalled),
    };
    const poolOf = ({ id }: State): Pool => {
      for (const pool of ['fast', 'slow', 'stalled'] as const) if (speeds[pool].has(id)) return pool;
      return 'new';
    };
    const ready = this.states.filter((state) => {
      const pool = poolOf(state);
      const ofAccount = rooms[`${pool} ${state.account}`] ?? rooms[`${pool} *`] ?? 0;
      const mayBeLeased = (request.held[`${state.id}`] ?? request.room) > 0;
      const isExamined = state.id > request.after && (request.isForAll || pool === 'fast');
      return isExamined && state.due.length > 0 && ofAccount > 0 && mayBeLeased;
    });
    const unused = {
      url: '',
      types: '',
      secret: '',
      formerSecret: null,
      formerSecretUntil: null,
      sendable: '',
    };
    return ready.slice(0, leaseLimits.webhooks).map((state) => ({
      ...{ ...unused, id: state.id, accountId: BigInt(state.account), pool: poolOf(state) },
      ...{ position: 0n, redeliveringTo: null, isBehind: false, pacedUntil: 0n },
      succeededAt: BigInt(state.succeededAt),
    }));
  }

  #lease(webhook: Pick<LeasedDelivery, 'webhookId' | 'accountId' | 'pool'>, eventAt: number): LeasedDelivery {
    const unused = { url: '', secret: '', formerSecret: null, formerSecretUntil: null, attempts: '[]' };
    const event = { eventId: 0n, type: 'pet.created', isSelected: true } as const;
    const delivery = { ...unused, ...event, ...webhook, id: 0n, createdAt: eventAt, leasedUntil: 0 };
    this.#events.set(delivery, eventAt);
    return delivery;
  }

  #start(webhookId: bigint): void {
    const next = () => this.#lanes.next(webhookId, this.#now);
    for (let loaded = next(); loaded !== undefined; loaded = next()) {
      const state = this.#stateById(webhookId);
      const eventAt = this.#events.get(loaded.delivery) ?? 0;
      state.delays.push(this.#now - eventAt);
      const late = Math.floor(this.#random() * this.#spreadMs);
      const milliseconds = Math.min(hungMs, state.receiver(this.#now, state.requests++)) + late;
      const endsAt = this.#now + milliseconds;
      this.#requests.push({ delivery: loaded.delivery, eventAt, endsAt, milliseconds });
    }
  }

  #release(released: readonly Loaded[]): void {
    for (const { delivery } of released) {
      const { due } = this.#stateOf(delivery);
      due.push(this.#events.get(delivery) ?? 0);
      due.sort((one, other) => one - other);
    }
  }

  #stateOf({ webhookId }: LeasedDelivery): State {
    return this.#stateById(webhookId);
  }

  #stateById(id: bigint): State {
    return this.states[Number(id) - 1] as State;
  }
}
