/**
 * Many buyers want the same animals, while processes are killed and servers go away. In each round they race until each
 * animal has a buyer, then trade, and in the end give all back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/wait.ts';
import { Chance } from '../generate/chance.ts';
import type { ShopPlace } from '../shop-places.ts';
import { Buyer, type Owners } from './buyer.ts';
import { takeStock } from './stocktaking.ts';
import { Till } from './till.ts';

export interface MarketOptions {
  readonly buyers: number;
  readonly animals: number;
  readonly kills: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

export interface MarketFigures {
  readonly rounds: number;
  readonly orders: number;
  readonly kills: Readonly<Record<string, number>>;
  readonly counts: Till['counts'];
}

/** How long after one kill the next one comes, at least; and so many answers for each buyer lie between them. */
const pauseMs = { least: 0, most: 200 } as const;
const answersBetween = 1;
/** How many kills there are while the buyers trade. */
const killsOfTrade = 3;
/** After so many kills a server goes away. */
const killsPerFault = 4;

export async function market(ground: ShopPlace, options: MarketOptions): Promise<MarketFigures> {
  const { buyers: count, animals, kills, seed, progress } = options;
  const till = new Till(ground);
  const owners: Owners = new Map();
  const buyers = Array.from({ length: count }, (_, index) => new Buyer(index, seed, till, owners));
  const told = () => buyers.flatMap(({ bought }) => bought);
  await stockUp(till, animals, new Chance(seed, -2));
  const nextMoment = answersSince(till, count * answersBetween);
  const killer = new Killer(ground, new Chance(seed, -1), nextMoment);
  let rounds = 0;
  for (; killer.kills < kills; rounds++) {
    await killer.during(() => all(buyers, (buyer) => buyer.race(animals)));
    await all(buyers, (buyer) => buyer.clearDoubts());
    const { orders } = await takeStock(ground, told());
    const standing = orders.filter(({ status }) => status === 'placed');
    if (standing.length !== animals)
      throw new Error(`${animals} animals are held by ${standing.length} orders.`);

    const enough = killer.kills + killsOfTrade;
    await killer.during(() =>
      all(buyers, (buyer) => buyer.trade(() => killer.kills >= enough || killer.hasFailed)),
    );
    await all(buyers, (buyer) => buyer.clearDoubts());
    await takeStock(ground, told());

    await killer.during(() => all(buyers, (buyer) => buyer.giveBack()));
    const { inventory } = await takeStock(ground, told());
    if (inventory.available !== animals) throw new Error(`All were given back: ${JSON.stringify(inventory)}`);
    progress(`${killer.kills} of ${kills} kills, ${told().length} orders`);
  }
  const { counts } = till;
  return { rounds, orders: told().length, kills: Object.fromEntries(killer.tally), counts };
}

function answersSince({ counts }: Till, answers: number): () => () => boolean {
  return () => {
    const enough = counts.answered + answers;
    return () => counts.answered >= enough;
  };
}

function all(buyers: readonly Buyer[], act: (buyer: Buyer) => Promise<void>): Promise<unknown> {
  return Promise.all(buyers.map(act));
}

async function stockUp(till: Till, animals: number, chance: Chance): Promise<void> {
  for (let number = 1; number <= animals; number++) {
    const body = `{"name":"Animal ${number}","categoryId":${number % 10}}`;
    const { status, text } = await till.post('/pets', body, `animal-${number}`, chance);
    if (status !== 201) throw new Error(`An animal was answered ${status}: ${text}`);
  }
}

/** Kills while others buy, one kill after the other. */
class Killer {
  readonly tally = new Map<string, number>();
  kills = 0;
  hasFailed = false;
  readonly #ground: ShopPlace;
  readonly #chance: Chance;

  readonly #nextMoment: () => () => boolean;

  /** `nextMoment` begins to wait, and returns whether it has come. */
  constructor(ground: ShopPlace, chance: Chance, nextMoment: () => () => boolean) {
    this.#ground = ground;
    this.#chance = chance;
    this.#nextMoment = nextMoment;
  }

  /** Kills until `act` has ended, and waits until what was killed last is back. */
  async during(act: () => Promise<unknown>): Promise<void> {
    let isOver = false;
    const acting = act().finally(() => {
      isOver = true;
    });
    const killing = this.#killUntil(() => isOver).catch((error) => {
      this.hasFailed = true;
      throw error;
    });
    await Promise.all([acting, killing]);
  }

  async #killUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const isTime = this.#nextMoment();
      await until(() => isTime() || isOver());
      await sleep(this.#chance.int(pauseMs.least, pauseMs.most));
      if (isOver()) return;
      const takeAway = this.kills % killsPerFault === killsPerFault - 1 ? this.#ground.takeAway : undefined;
      if (takeAway !== undefined) this.#count(await takeAway(this.#chance));
      this.#count(await this.#ground.kill(this.#chance));
      this.kills++;
    }
  }

  #count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }
}
