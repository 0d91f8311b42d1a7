/**
 * Simulates in virtual time how a process sends events to the receivers of many accounts: with the rules for leases, but
 * without a store or requests.
 */
import {
  type LeasedDelivery,
  type LeaseRequest,
  leaseLimits,
  maxInFlight,
} from '../../src/domain/delivery.ts';
import type { ReadyWebhook } from '../../src/storage/delivery-row.ts';
import { divideLeases, nextRound, occupiedJson } from '../../src/storage/lease-rounds.ts';
import { RequestsInFlight } from '../../src/webhooks/requests-in-flight.ts';
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
}

type Request = Pick<LeasedDelivery, 'webhookId' | 'accountId'> & {
  readonly endsAt: number;
  readonly milliseconds: number;
};

/**
 * Sends an event a second to each webhook. Rounds take `roundMs`. Returns how late the events of each were sent, in ms.
 */
export function simulate(
  webhooks: readonly SimulatedWebhook[],
  seconds: number,
  roundMs: number,
): number[][] {
  const simulation = new Simulation(webhooks);
  simulation.run(seconds * 1_000, roundMs);
  return simulation.states.map(({ delays }) => delays);
}

class Simulation {
  readonly states: readonly State[];
  readonly #inFlight = new RequestsInFlight(maxInFlight.perProcess);
  readonly #random = randomFrom(1);
  #requests: Request[] = [];
  #after = 0n;
  #now = 0;

  constructor(webhooks: readonly SimulatedWebhook[]) {
    this.states = webhooks.map((webhook, at) => {
      return { ...webhook, id: BigInt(at + 1), due: [], delays: [], requests: 0 };
    });
  }

  run(untilMs: number, roundMs: number): void {
    for (let eventsAt = 0; this.#now < untilMs; this.#now += roundMs) {
      for (; eventsAt <= this.#now; eventsAt += 1_000)
        for (const { due, from = 0 } of this.states) if (from <= eventsAt) due.push(eventsAt);
      this.#endRequests();
      this.#round();
    }
  }

  #endRequests(): void {
    const ended = this.#requests.filter(({ endsAt }) => endsAt <= this.#now);
    this.#requests = this.#requests.filter(({ endsAt }) => endsAt > this.#now);
    for (const request of ended) this.#inFlight.end(request, request.milliseconds);
  }

  #round(): void {
    // The pace of accounts is not simulated.
    const times = { now: Date.UTC(2026, 0), leasedUntil: 0, lost: [], perSecond: 1_000 };
    const { facts } = this.#inFlight;
    const room = Math.min(facts.free, leaseLimits.deliveries);
    const request = {
      ...facts,
      ...times,
      ...{ room, after: this.#after, full: [], turn: this.#random() },
    };
    const found = this.#find(request);
    const shares = divideLeases(found, request);
    const leased: Pick<LeasedDelivery, 'webhookId'>[] = [];
    for (const { id, due } of found.map(({ id }) => this.states[Number(id) - 1] as State))
      for (const eventAt of due.splice(0, shares.get(id)?.most ?? 0)) {
        leased.push({ webhookId: id });
        this.#start(id, eventAt);
      }
    this.#after = nextRound(found, leased, request, { last: 0n, shares }).after;
  }

  /** The webhooks that the store finds. */
  #find(request: LeaseRequest): ReadyWebhook[] {
    const occupied = JSON.parse(occupiedJson(request));
    const [accounts, webhooks] = [new Set(occupied.accounts), new Set(occupied.webhooks)];
    const ready = this.states
      .slice(Number(request.after))
      .filter(
        ({ id, account, due }) => due.length > 0 && !accounts.has(account) && !webhooks.has(Number(id)),
      );
    if (request.room === 0) return [];
    const unused = {
      ...{ url: '', types: '', secret: '', formerSecret: null, formerSecretUntil: null, sendable: '' },
      ...{ position: 0n, redeliveringTo: null, isBehind: false, pacedUntil: 0n },
    };
    return ready
      .slice(0, leaseLimits.webhooks)
      .map(({ id, account }) => ({ ...unused, id, accountId: BigInt(account) }));
  }

  #start(webhookId: bigint, eventAt: number): void {
    const state = this.states[Number(webhookId) - 1] as State;
    state.delays.push(this.#now - eventAt);
    const milliseconds = Math.min(hungMs, state.receiver(this.#now, state.requests++));
    const request = { webhookId, accountId: state.account };
    this.#inFlight.begin(request);
    this.#requests.push({ ...request, endsAt: this.#now + milliseconds, milliseconds });
  }
}
