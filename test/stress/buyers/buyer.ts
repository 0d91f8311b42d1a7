import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from '../generate/chance.ts';
import type { Said, Till } from './till.ts';

export type Step = 'approve' | 'deliver' | 'cancel' | 'return';

/** An order as its buyer was told it. */
export interface Bought {
  readonly id: number;
  readonly petId: number;
  status: string;
}

const stepsOf: Readonly<Record<string, readonly Step[]>> = {
  placed: ['approve', 'cancel'],
  approved: ['deliver', 'cancel'],
  delivered: ['return'],
};

/** The steps that give an animal back. */
const wayBack: Readonly<Record<string, Step>> = { placed: 'cancel', approved: 'cancel', delivered: 'return' };

const statusAfter = {
  approve: 'approved',
  deliver: 'delivered',
  cancel: 'cancelled',
  return: 'returned',
} as const;

/** How long a buyer believes that there is something left to buy, though it sees nothing. */
const hopeMs = 5_000;

/** What all buyers know together: who was told to have which animal. */
export type Owners = Map<number, Bought>;

/** A client that wants as many of the animals as it can get. */
export class Buyer {
  /** Every order it was told to have placed. */
  readonly bought: Bought[] = [];
  readonly #till: Till;
  readonly #chance: Chance;
  readonly #owners: Owners;
  readonly #name: string;
  /** Orders that were refused although an earlier try had no answer: the animal, by their `Idempotency-Key`. */
  readonly #doubts = new Map<string, number>();
  #requests = 0;

  constructor(index: number, seed: number, till: Till, owners: Owners) {
    this.#name = `buyer-${index}`;
    this.#till = till;
    this.#chance = new Chance(seed, index);
    this.#owners = owners;
  }

  /** Buys until somebody has each of the animals. */
  async race(animals: number): Promise<void> {
    let hopeless = performance.now() + hopeMs;
    while (this.#owners.size < animals && performance.now() < hopeless) {
      const available = await this.#available();
      for (const petId of this.#chance.shuffled(available).slice(0, 3)) await this.#place(petId);
      if (available.length > 0) hopeless = performance.now() + hopeMs;
      else await sleep(20);
    }
  }

  /** Takes orders on, gives animals back and buys others. */
  async trade(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const order = this.#chance.pick(this.#own());
      if (order !== undefined && this.#chance.often(0.7)) await this.#take(order, this.#stepFor(order));
      else {
        const petId = this.#chance.pick(await this.#available());
        if (petId !== undefined) await this.#place(petId);
      }
    }
  }

  /**
   * Asks again for what was refused when an earlier try had no answer: that one may have come to the store after the
   * refusal, and a refusal is not kept under its key. By now nothing is under way.
   */
  async clearDoubts(): Promise<void> {
    while (this.#doubts.size > 0) {
      for (const [key, petId] of [...this.#doubts]) await this.#place(petId, key);
    }
  }

  /** Gives everything back. */
  async giveBack(): Promise<void> {
    for (const order of this.#own()) {
      const step = wayBack[order.status];
      if (step !== undefined) await this.#take(order, step);
    }
  }

  /** Its orders that have a step left. */
  #own(): Bought[] {
    return this.bought.filter(({ status }) => status in wayBack);
  }

  #stepFor({ status }: Bought): Step {
    return this.#chance.pick(stepsOf[status] ?? []);
  }

  async #available(): Promise<number[]> {
    const said = await this.#till.get('/pets?status=available&limit=100', this.#chance);
    if (said.status !== 200) throw unexpected('a list', said);
    return (JSON.parse(said.text) as { readonly id: number }[]).map(({ id }) => id);
  }

  async #place(petId: number, key = this.#newKey()): Promise<void> {
    const said = await this.#till.post('/orders', `{"petId":${petId}}`, key, this.#chance);
    this.#doubts.delete(key);
    if (said.status === 409 && said.text.includes('"pet_not_available"')) {
      if (said.isInDoubt) this.#doubts.set(key, petId);
      return;
    }
    if (said.status !== 201) throw unexpected(`an order for ${petId}`, said);
    const order = JSON.parse(said.text) as Bought;
    if (order.petId !== petId || order.status !== 'placed') throw unexpected(`an order for ${petId}`, said);
    const owner = this.#owners.get(petId);
    if (owner !== undefined)
      throw new Error(`Animal ${petId} was sold by the orders ${owner.id} and ${order.id}.`);
    const bought = { id: order.id, petId, status: order.status };
    this.#owners.set(petId, bought);
    this.bought.push(bought);
  }

  async #take(order: Bought, step: Step): Promise<void> {
    // Another buyer may have it before this one is told that it is given back.
    if (step === 'cancel' || step === 'return') this.#owners.delete(order.petId);
    const target = `/orders/${order.id}/${step}`;
    const said = await this.#till.post(target, '', this.#newKey(), this.#chance);
    const { status } = JSON.parse(said.text) as Bought;
    if (said.status !== 200 || status !== statusAfter[step]) throw unexpected(`${step} of ${order.id}`, said);
    order.status = status;
  }

  #newKey(): string {
    return `${this.#name}-${this.#requests++}`;
  }
}

function unexpected(what: string, { status, text }: Said): Error {
  return new Error(`${what} was answered ${status}: ${text}`);
}
