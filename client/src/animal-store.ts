import { Categories } from './categories.js';
import type { Clock } from './clock.js';
import { systemClock } from './clock.js';
import type { Hooks } from './hooks.js';
import { Inventory } from './inventory.js';
import { Orders } from './orders.js';
import { Pets } from './pets.js';
import { RateLimit } from './rate-limit.js';
import { sender } from './send.js';

/** Sends a request; the global `fetch` is one. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AnimalStoreOptions extends Hooks {
  /** The API key, `ask_…`. */
  readonly key: string | undefined;
  /** Address of the service, such as `https://animals.example.com`. */
  readonly url: string | URL | undefined;
  /** Most seconds that a call waits for limits and retries, in all, until it throws what it waits for; 60 when omitted. */
  readonly maxWaitSeconds?: number | undefined;
  /** Whether to slow down before the limit, so that no request is refused; false when omitted. */
  readonly pace?: boolean | undefined;
  /** Milliseconds that each try may take; 30,000 when omitted. */
  readonly timeoutMs?: number | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/**
 * A client of one service with one key. Share it: its calls wait together. Calls reject with AnimalStoreError.
 */
export class AnimalStore {
  readonly pets: Pets;
  readonly categories: Categories;
  readonly orders: Orders;
  readonly inventory: Inventory;
  readonly rateLimit: RateLimit;

  /** Throws TypeError when `key` or `url` cannot be one. */
  constructor(options: AnimalStoreOptions) {
    const { clock = systemClock } = options as { readonly clock?: Clock };
    const send = sender(options, clock);
    this.pets = new Pets(send);
    this.categories = new Categories(send);
    this.orders = new Orders(send);
    this.inventory = new Inventory(send);
    this.rateLimit = new RateLimit(send);
  }
}
