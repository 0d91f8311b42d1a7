/** Writes through a proxy that cuts connections, repeated until they are answered: each is done exactly once. */
import { clientOf } from '../support/client.ts';
import { cuts, cuttingProxy } from './cutting-proxy.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import { Expected, liveOnce, type Stored, type StoredOrder, type Write } from './once-work.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';
import { Wire, type WireResponse } from './wire.ts';

const clients = 32;
/** The service is killed after this many answered writes, again and again. */
const writesPerKill = 100;
/** Every tenth write is repeated although it was answered. */
const writesPerRepeat = 10;
/** Before a request is sent again; a client that nothing disturbs waits longer. */
const pauseMs = 5;

const headersThatStay = ['content-type', 'location', 'etag'] as const;

/** Clients, and what they saw. */
class Clients {
  readonly expected = new Expected();
  readonly seen = { writes: 0, sent: 0, repeated: 0, replayed: 0, inUse: 0, unavailable: 0 };
  readonly #url: string;
  readonly #key: string;
  readonly #onWrite: (writes: number) => void;

  /** `onWrite` is called after each answered write. */
  constructor(url: string, key: string, onWrite: (writes: number) => void) {
    this.#url = url;
    this.#key = key;
    this.#onWrite = onWrite;
  }

  /** One life after the other until that many writes are done. */
  async work(client: number, writes: number, seed: number, failures: Failures): Promise<void> {
    using wire = new Wire(this.#url);
    for (let number = 0; this.seen.writes < writes && failures.count === 0; number++) {
      const name = `${client}-${number}`;
      const chance = new Chance(seed, client * 1_000_000 + number);
      await failures.guard(name, () =>
        liveOnce(name, chance, this.expected, (write) => this.#perform(wire, write)),
      );
    }
  }

  async #perform(wire: Wire, write: Write): Promise<unknown> {
    const answer = await this.#answered(wire, write);
    this.#onWrite(++this.seen.writes);
    if (this.seen.writes % writesPerRepeat === 0) {
      this.seen.repeated++;
      const again = await this.#answered(wire, write);
      same('Idempotent-Replayed', again.headers.get('idempotent-replayed'), 'true');
      same('the answer to a repetition', again.text, answer.text);
      for (const name of headersThatStay) same(name, again.headers.get(name), answer.headers.get(name));
    }
    return JSON.parse(answer.text);
  }

  /** Sends it until it is done. */
  async #answered(wire: Wire, { target, body, status, idempotencyKey }: Write): Promise<WireResponse> {
    const bytes = bytesOf({
      method: 'POST',
      target,
      headers: [
        ['Authorization', `Bearer ${this.#key}`],
        ['Idempotency-Key', idempotencyKey],
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ],
      ...(body !== undefined && { body: Buffer.from(body) }),
    });
    for (;;) {
      this.seen.sent++;
      const answer = await wire.send(bytes).catch(() => undefined);
      if (answer?.status === status) {
        if (answer.headers.get('idempotent-replayed') === 'true') this.seen.replayed++;
        return answer;
      }
      if (answer?.status === 409 && answer.text.includes('"idempotency_key_in_use"')) this.seen.inUse++;
      else if (answer?.status === 503) this.seen.unavailable++;
      else if (answer !== undefined) throw new Error(`${target}: ${answer.status} ${answer.text}`);
      await Bun.sleep(pauseMs);
    }
  }
}

/** `rounds` is the number of writes; the service is killed once for each `writesPerKill` of them. */
export async function eachOnce(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
  perKill = writesPerKill,
): Promise<Figures> {
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1));
  const failures = new Failures(seed);
  const chance = new Chance(seed, -2);
  let kills = 0;
  let killing = Promise.resolve();
  const working = new Clients(proxy.url, place.key, (writes) => {
    progress(`${writes} of ${rounds} writes`);
    if (writes % perKill !== 0 || writes > rounds) return;
    kills++;
    // One kill after the other, while the clients continue.
    killing = killing.then(() => failures.guard('kill', () => place.kill(chance)));
  });
  await Promise.all(
    Array.from({ length: clients }, (_, client) => working.work(client, rounds, seed, failures)),
  );
  await killing;
  failures.end();
  await checkStored(place, working.expected);
  return figuresOf(working, kills, proxy.met);
}

function figuresOf(
  { seen, expected }: Clients,
  kills: number,
  met: Readonly<Partial<Record<string, number>>>,
): Figures {
  return {
    'writes, each done once': seen.writes,
    'animals and orders': expected.pets.size + expected.orders.size,
    'requests sent': seen.sent,
    ...Object.fromEntries(cuts.map((fate) => [`cut ${fate}`, met[fate] ?? 0])),
    'kill -9': kills,
    'repeated although answered': seen.repeated,
    'answers replayed': seen.replayed,
    'answered 409 idempotency_key_in_use': seen.inUse,
    'answered 503': seen.unavailable,
  };
}

/** What is stored is what was answered, and nothing else. */
export async function checkStored({ key, urls }: ShopPlace, { pets, orders }: Expected): Promise<void> {
  const [url = ''] = urls();
  const counts = { available: 0, pending: 0, sold: 0 };
  const storedPets = await all<Stored & { name: string; status: keyof typeof counts }>(url, key, '/pets');
  for (const { id, name, status } of storedPets) {
    same(`animal "${name}"`, `${id} ${status}`, textOf(pets.get(name)));
    counts[status]++;
  }
  same('the number of animals', storedPets.length, pets.size);
  const storedOrders = await all<StoredOrder & { reference: string }>(url, key, '/orders');
  for (const { id, petId, status, reference } of storedOrders) {
    const order = orders.get(reference);
    same(`order "${reference}"`, `${id} ${status} of ${petId}`, `${textOf(order)} of ${order?.petId}`);
  }
  same('the number of orders', storedOrders.length, orders.size);
  const inventory = await clientOf(url, key).get('/inventory');
  same('the inventory', inventory.text, JSON.stringify(counts));
}

const textOf = (stored: Stored | undefined) => `${stored?.id} ${stored?.status}`;

async function all<Item>(url: string, key: string, path: string): Promise<Item[]> {
  const items: Item[] = [];
  const client = clientOf(url, key);
  for (let target: string | undefined = `${path}?limit=100`; target !== undefined; ) {
    const { status, text, headers } = await client.get(target);
    if (status !== 200) throw new Error(`${target}: ${status} ${text}`);
    items.push(...(JSON.parse(text) as Item[]));
    target = /<[^>]*\/v1(\/[^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  return items;
}

export const onceTests: readonly StressTest[] = shopKinds.map(({ name, title, open }) => ({
  name: `once${name}`,
  promise:
    'creations, orders and their steps through a proxy that cuts connections at random, repeated with their ' +
    `Idempotency-Key until they are answered, are each done exactly once, through kill -9, ${title} (rounds: writes)`,
  rounds: 10_000,
  async run(options) {
    await using place = await open();
    if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    return await eachOnce(place, options);
  },
}));
