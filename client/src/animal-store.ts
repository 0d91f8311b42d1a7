import { Categories } from './categories.js';
import { type Clock, systemClock } from './clock.js';
import { ArgumentError } from './errors.js';
import { Events } from './events.js';
import { Inventory } from './inventory.js';
import { Orders } from './orders.js';
import { Pets } from './pets.js';
import { RateLimit } from './rate-limit.js';
import { sender } from './send.js';
import type { AnimalStoreOptions } from './settings.js';
import { Webhooks } from './webhooks.js';

/**
 * A client for one service and one API key. Share the instance, so that all calls respect the same limits.
 * Calls reject with an AnimalStoreError.
 */
export class AnimalStore {
  readonly pets: Pets;
  readonly categories: Categories;
  readonly orders: Orders;
  readonly inventory: Inventory;
  readonly events: Events;
  readonly rateLimit: RateLimit;
  readonly webhooks: Webhooks;

  /** Throws an ArgumentError if `key`, `url` or another option is invalid. */
  constructor(options: AnimalStoreOptions) {
    if (!options) throw new ArgumentError('Pass { key, url } to new AnimalStore().');
    const { clock = systemClock } = options as { readonly clock?: Clock };
    const send = sender(options, clock);
    this.pets = new Pets(send);
    this.categories = new Categories(send);
    this.orders = new Orders(send);
    this.inventory = new Inventory(send);
    this.events = new Events(send, clock);
    this.rateLimit = new RateLimit(send);
    this.webhooks = new Webhooks(send);
  }
}
