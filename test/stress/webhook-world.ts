/** Shared parts of the webhook stress test: faults, the feed, receivers and writers. */
import type { AnimalStore, Delivery } from '../../client/src/index.ts';
import { type EventType, expandSelectors } from '../../src/domain/event-type.ts';
import { readFeed } from './event-readers.ts';
import type { Failures } from './failures.ts';
import { Chance } from './generate/chance.ts';
import type { ShopPlace } from './shop-places.ts';
import type { ReceiverKind } from './webhook-kinds.ts';
import { Bodies, Receiver, type World } from './webhook-receivers.ts';

/** Records kills and outages, and how far the services' clocks are ahead. */
export class Faults {
  readonly tally: Record<string, number> = {};
  readonly #place: ShopPlace;
  readonly #spans: { readonly begin: number; end: number }[] = [];
  #aheadMs: readonly number[];

  constructor(place: ShopPlace) {
    this.#place = place;
    this.#aheadMs = [place.aheadMs];
  }

  get aheadMs(): readonly number[] {
    return this.#aheadMs;
  }

  /** The services' current time, in Unix ms. */
  now(): number {
    return Date.now() + this.#place.aheadMs;
  }

  /** Calls `what` to inject a fault. `what` resolves with the fault's name, under which the fault is counted. */
  async disturb(what: () => Promise<string>): Promise<void> {
    const span = { begin: performance.now(), end: Number.POSITIVE_INFINITY };
    this.#spans.push(span);
    const name = await what();
    span.end = performance.now();
    this.tally[name] = (this.tally[name] ?? 0) + 1;
  }

  /** Kills all services and restarts them with their clocks advanced. */
  skip(ms: number): Promise<void> {
    return this.disturb(async () => {
      const { aheadMs } = this.#place;
      // Requests that were sent before the kill may arrive later.
      this.#aheadMs = [aheadMs + ms, aheadMs];
      await this.#place.skip(ms);
      return 'kills of all processes, with time skipped';
    });
  }

  isDisturbed(from: number, to: number): boolean {
    return this.#spans.some(({ begin, end }) => begin <= to && end >= from);
  }
}

interface FeedEvent {
  readonly id: number;
  readonly type: string;
  readonly text: string;
}

/** The events read from the feed so far. */
export class Feed {
  readonly events: FeedEvent[] = [];

  /** Reads new events and returns all events. */
  async update({ urls, key }: Pick<ShopPlace, 'urls' | 'key'>): Promise<readonly FeedEvent[]> {
    for (;;) {
      const { texts } = await readFeed(urls()[0] ?? '', key, this.events.at(-1)?.id ?? 0);
      if (texts.length === 0) return this.events;
      for (const text of texts) {
        const [, id, type = ''] = /^\{"id":(\d+),"type":"([^"]+)"/.exec(text) ?? [];
        this.events.push({ id: Number(id), type, text });
      }
    }
  }

  /** Events after `after` that the receiver has selected. */
  wantedBy({ kind, from }: Receiver, after = from): FeedEvent[] {
    const types = expandSelectors(kind.types);
    return this.events.filter(({ id, type }) => id > after && types.has(type as EventType));
  }

  disablesOf({ webhookId }: Receiver): number {
    const of = `"data":{"id":${webhookId},`;
    return this.events.filter(({ type, text }) => type === 'webhook.disabled' && text.includes(of)).length;
  }
}

/** One receiver of each kind, with a webhook for each. */
export class Receivers implements AsyncDisposable {
  readonly all: readonly Receiver[];
  readonly bodies = new Bodies();
  /** Number of requests to the URL to which receivers redirect. It must stay 0. */
  trapped = 0;
  readonly #trap: Bun.Server<undefined>;

  constructor(kinds: readonly ReceiverKind[], world: World, seed: number) {
    this.#trap = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(String(++this.trapped)),
    });
    const trap = this.#trap.url.href;
    this.all = kinds.map((kind, index) => {
      const chance = new Chance(seed, 1_000_000 + index);
      return new Receiver(kind, { world, bodies: this.bodies, chance, trap });
    });
  }

  async subscribe({ webhooks }: AnimalStore): Promise<void> {
    for (const receiver of this.all) {
      const { id, secret } = await webhooks.create({
        url: await receiver.listen(),
        types: receiver.kind.types,
      });
      receiver.subscribed(id, secret);
    }
  }

  get requests(): number {
    return this.all.reduce((sum, { requests }) => sum + requests, 0);
  }

  /** Milliseconds since a receiver last got a request. */
  get idleMs(): number {
    return performance.now() - Math.max(...this.all.map(({ lastAt }) => lastAt));
  }

  named(name: string): Receiver {
    const found = this.all.find(({ kind }) => kind.name === name);
    if (found === undefined) throw new Error(`There is no receiver named ${name}.`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#trap.stop(true);
    await Promise.all(this.all.map((receiver) => receiver[Symbol.asyncDispose]()));
  }
}

const writers = 8;
/** Most names are not ASCII, so that byte and character counts differ. */
const names = ['Rex', 'Größe', '犬', '🐕 "quoted" \\', 'a\u2028b', 'e\u0301'];

/** Makes random changes until their number reaches `allowed`, which may increase. */
export class Writing implements Disposable {
  allowed = 0;
  begun = 0;
  done = 0;
  unanswered = 0;
  readonly #ending = new AbortController();
  readonly #store: AnimalStore;
  readonly #seed: number;

  constructor(store: AnimalStore, seed: number) {
    this.#store = store;
    this.#seed = seed;
  }

  begin(failures: Failures): void {
    for (let writer = 0; writer < writers; writer++) {
      const write = () => this.#write(writer, new Chance(this.#seed, writer));
      void failures.guard(`writer ${writer}`, write);
    }
  }

  [Symbol.dispose](): void {
    this.#ending.abort();
  }

  async #write(writer: number, chance: Chance): Promise<void> {
    const pets: bigint[] = [];
    while (!this.#ending.signal.aborted) {
      if (this.begun >= this.allowed) {
        await Bun.sleep(2);
        continue;
      }
      const name = `${chance.pick(names)} ${writer}-${this.begun++}`;
      await this.#change(name, BigInt(writer * 10 + chance.int(0, 9)), pets, chance).catch((error) => {
        if (this.#ending.signal.aborted) return;
        // The change was in flight during a kill, and the client does not retry it.
        if (!/Connection|Timeout|Server|Unavailable/.test((error as Error).constructor.name)) throw error;
        this.unanswered++;
      });
      this.done++;
    }
  }

  async #change(name: string, categoryId: bigint, pets: bigint[], chance: Chance): Promise<void> {
    const store = this.#store;
    const { signal } = this.#ending;
    const [pet] = chance.shuffled(pets);
    const share = chance.int(1, 100);
    const create = () => store.pets.create({ name, categoryId }, { signal });
    if (pet === undefined || share <= 40) pets.push((await create()).id);
    else if (share <= 75) await store.pets.update(pet, { name }, { signal });
    else if (share <= 94) await store.categories.put(categoryId, { name }, { signal });
    else {
      const { id } = await create();
      const order = await store.orders.place({ petId: id }, { signal });
      await store.orders.cancel(order.id, { signal });
    }
  }
}

/** All deliveries that the service lists for the receiver's webhook. */
export function deliveriesOf(
  store: AnimalStore,
  { webhookId }: Receiver,
  status?: 'pending',
): Promise<Delivery[]> {
  return store.webhooks.deliveries(webhookId, { limit: 100, ...(status && { status }) }).toArray();
}
