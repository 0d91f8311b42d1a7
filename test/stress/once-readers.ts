/**
 * Feed readers that run while writes are disturbed and the service is killed. Each reader must receive every event
 * exactly once and in order, and applying the events must reproduce the state of the store.
 */
import { AnimalStore, type Event } from '../../client/src/index.ts';
import { type Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';

/** Maximum number of events that a reader receives before it disconnects and resumes. */
const mostAtOnce = 60;

const textOf = (value: unknown) =>
  JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member));

export class Readers {
  readonly seen = { events: 0, resumed: 0 };
  readonly #store: AnimalStore;
  readonly #chance: Chance;
  readonly #read: Event[][];
  /** Id of the last event of the test. */
  #last = Number.POSITIVE_INFINITY;
  readonly #ending = new AbortController();

  /** `url` may be the address of a proxy that disturbs requests. */
  constructor(
    { url, key, timeoutMs }: { url: string; key: string; timeoutMs: number },
    count: number,
    seed: number,
  ) {
    this.#store = new AnimalStore({ url, key, timeoutMs, maxRetries: 1_000 });
    this.#chance = new Chance(seed, -3);
    this.#read = Array.from({ length: count }, () => []);
  }

  /** Resolves when all readers have read the last event. */
  async follow(failures: Failures): Promise<void> {
    const follow = (read: Event[], index: number) =>
      failures.guard(`reader ${index}`, async () => {
        while (read.length < this.#last && failures.count === 0) await this.#some(read);
      });
    await Promise.all(this.#read.map(follow));
  }

  /** Stops the readers at the last event and checks what they received. The store must no longer change. */
  async end(direct: AnimalStore): Promise<void> {
    this.#last = Number((await direct.events.list({ order: 'desc', limit: 1 })).next);
    this.#ending.abort();
  }

  async check(direct: AnimalStore): Promise<void> {
    const all: Event[] = [];
    while (all.length < this.#last) all.push(...(await direct.events.list({ after: all.length })).events);
    for (const [index, { id }] of all.entries()) same('the id of an event', id, BigInt(index + 1));
    const texts = all.map(textOf);
    for (const [reader, read] of this.#read.entries()) {
      same(`the number of events of reader ${reader}`, read.length, all.length);
      for (const [index, event] of read.entries())
        same(`event of reader ${reader}`, textOf(event), texts[index]);
    }
    await checkCopy(direct, all);
    this.seen.events = all.length;
  }

  async #some(read: Event[]): Promise<void> {
    const leaveAt = read.length + this.#chance.int(1, mostAtOnce);
    this.seen.resumed++;
    const signal = this.#last === Number.POSITIVE_INFINITY ? this.#ending.signal : undefined;
    try {
      for await (const event of this.#store.events.follow({
        after: read.length,
        ...(signal && { signal }),
      })) {
        read.push(event);
        if (read.length === leaveAt || read.length >= this.#last) return;
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}

/** Checks that each resource in the store equals the resource in its last event. */
async function checkCopy(store: AnimalStore, events: readonly Event[]): Promise<void> {
  const copies = {
    pet: new Map<bigint, string>(),
    order: new Map<bigint, string>(),
    category: new Map<bigint, string>(),
  };
  for (const { type, data } of events) {
    const [kind, change] = type.split('.');
    const copy = copies[kind as keyof typeof copies];
    const { id } = data as { readonly id: bigint };
    if (change === 'deleted') copy.delete(id);
    else copy.set(id, textOf(data));
  }
  const lists = { pet: store.pets, order: store.orders, category: store.categories };
  for (const [kind, list] of Object.entries(lists)) {
    const stored = (await list.list().toArray()).map((one) => [one.id, textOf(one)] as const);
    const copy = copies[kind as keyof typeof copies];
    same(`the number of copies of each ${kind}`, copy.size, stored.length);
    for (const [id, text] of stored) same(`the copy of ${kind} ${id}`, copy.get(id), text);
  }
}
