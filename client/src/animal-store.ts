import { Categories } from './categories.js';
import { type Clock, systemClock } from './clock.js';
import { ArgumentError } from './errors.js';
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
  /** Most seconds that a call waits in total, for limits and for the end of outages; defaults to 60. */
  readonly maxWaitSeconds?: number | undefined;
  /** Most retries of a call; by default only `maxWaitSeconds` bounds them. 0 disables retries. */
  readonly maxRetries?: number | undefined;
  /** Slows down before the limit, so that no request is refused; defaults to false. */
  readonly pace?: boolean | undefined;
  /** Milliseconds per attempt; defaults to 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Sent with every request, for a gateway or tracing. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch`. */
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

  /** Throws ArgumentError when `key`, `url` or another option is not valid. */
  constructor(options: AnimalStoreOptions) {
    if (!options) throw new ArgumentError('Pass { key, url } to new AnimalStore().');
    const { clock = systemClock } = options as { readonly clock?: Clock };
    const send = sender(options, clock);
    this.pets = new Pets(send);
    this.categories = new Categories(send);
    this.orders = new Orders(send);
    this.inventory = new Inventory(send);
    this.rateLimit = new RateLimit(send);
  }
}
