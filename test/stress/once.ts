/**
 * Sends the client's writes through a proxy that disturbs requests, while the service is killed. Each write must be
 * applied exactly once.
 */
import {
  AnimalStore,
  ConnectionError,
  NotFoundError,
  ServerError,
  TimeoutError,
  UnavailableError,
} from '../../client/src/index.ts';
import { balancers, cuts, cuttingProxy } from './cutting-proxy.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { Readers } from './once-readers.ts';
import { Expected, liveOnce, type Stored, type Write } from './once-work.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import { openOrThrow, type StressOptions, type StressResult, type StressTest } from './stress-test.ts';

const mostWorkers = 32;
const readers = 4;
/** Minimum number of writes per worker, about one order lifecycle. */
const writesEach = 10;
/** Number of writes between two kills of the service. */
const writesPerKill = 100;
/** Fraction of requests that are disturbed. The client limits its retries, so some calls end without a response. */
const spoiled = 0.3;
/** The client's timeout, and the delay of late responses. */
const patience = { timeoutMs: 1_000, lateMs: 1_500 } as const;
/** Cuts occur twice as often as other disturbances, because the others delay workers by a second. */
const fates = [...cuts, ...cuts, ...balancers];

const steps = ['approve', 'deliver', 'cancel', 'return'] as const;

/** Sends a write through the client. All ids in this test are safe integers. */
async function perform(store: AnimalStore, { target, body, idempotencyKey }: Write): Promise<Stored> {
  const given = JSON.parse(body ?? '{}');
  const [, id = '', step = ''] = /^\/orders\/(\d+)\/(\w+)$/.exec(target) ?? [];
  const known = steps.find((one) => one === step);
  const answer =
    target === '/pets'
      ? await store.pets.create({ name: given.name, categoryId: given.categoryId }, { idempotencyKey })
      : known === undefined
        ? await store.orders.place({ petId: given.petId, reference: given.reference }, { idempotencyKey })
        : await store.orders[known](BigInt(id), { idempotencyKey });
  if (answer === undefined) throw new Error(`The response to POST ${target} has no body.`);
  return { id: Number(answer.id), status: answer.status };
}

/** True if a call failed with an unknown outcome. */
const isUnknown = (error: unknown) =>
  [ConnectionError, TimeoutError, ServerError, UnavailableError].some((kind) => error instanceof kind);

/** Runs order lifecycles one after the other until enough writes are done. */
class Workers {
  readonly expected = new Expected();
  readonly categories = new Map<bigint, string>();
  readonly #store: AnimalStore;
  readonly #onWrite: (writes: number) => void;
  readonly seen = { writes: 0, retries: 0, calledAgain: 0, removedBefore: 0 };

  /** `onWrite` is called after each write. */
  constructor(url: string, key: string, onWrite: (writes: number) => void) {
    const onRetry = () => {
      this.seen.retries++;
    };
    this.#store = new AnimalStore({ key, url, timeoutMs: patience.timeoutMs, onRetry });
    this.#onWrite = onWrite;
  }

  async work(worker: number, writes: number, seed: number, failures: Failures): Promise<void> {
    for (let number = 0; this.seen.writes < writes && failures.count === 0; number++) {
      const name = `${worker}-${number}`;
      const chance = new Chance(seed, worker * 1_000_000 + number);
      await failures.guard(name, async () => {
        const done = (write: Write) => this.#done(() => perform(this.#store, write));
        await liveOnce(name, chance, this.expected, done);
        await this.#changeAndRemove(name, BigInt(worker * 1_000_000 + number));
      });
    }
  }

  /**
   * Changes and deletes an animal and a category that no other worker uses. These operations do not accept an
   * Idempotency-Key.
   */
  async #changeAndRemove(name: string, categoryId: bigint): Promise<void> {
    const { pets, categories } = this.#store;
    const put = await this.#done(() => categories.put(categoryId, { name }));
    same('the name of the category', put.name, name);
    this.categories.set(categoryId, name);
    const gone = { name: `${name}, gone`, categoryId };
    const { id } = await this.#done(() => pets.create(gone, { idempotencyKey: `gone-${name}` }));
    const changed = await this.#done(() => pets.update(id, { status: 'pending' }));
    same('the status after the change', changed?.status, 'pending');
    // Runtimes retry DELETE if a reused connection breaks, and the retry gets 404.
    await this.#done(() => pets.delete(id)).catch((error) => {
      if (!(error instanceof NotFoundError)) throw error;
      this.seen.removedBefore++;
    });
  }

  /** Retries until the outcome is known, as a program that stores its idempotency keys would. */
  async #done<Data>(call: () => Promise<Data>): Promise<Data> {
    for (;;) {
      try {
        const data = await call();
        this.#onWrite(++this.seen.writes);
        return data;
      } catch (error) {
        if (!isUnknown(error)) throw error;
        this.seen.calledAgain++;
      }
    }
  }
}

/** `rounds` is the number of writes. The service is killed once per `perKill` writes. */
export async function eachOnce(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
  perKill = writesPerKill,
): Promise<StressResult> {
  const spoiling = { part: spoiled, fates, lateMs: patience.lateMs };
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1), spoiling);
  const failures = new Failures(seed);
  const chance = new Chance(seed, -2);
  const tally: Record<string, number> = {};
  const count = (what: string) => {
    tally[what] = (tally[what] ?? 0) + 1;
  };
  let kills = 0;
  let killing = Promise.resolve();
  const working = new Workers(proxy.url, place.key, (writes) => {
    progress(`${writes} of ${rounds} writes`);
    if (writes % perKill !== 0 || writes > rounds) return;
    const takesAway = ++kills % 2 === 0;
    // Injects one fault at a time, while the clients continue.
    killing = killing.then(() =>
      failures.guard('kill', async () => {
        if (takesAway && place.takeAway) count(await place.takeAway(chance));
        count(await place.kill(chance));
      }),
    );
  });
  const workers = Math.min(mostWorkers, Math.ceil(rounds / writesEach));
  const reading = new Readers({ url: proxy.url, key: place.key, ...patience }, readers, seed);
  const read = reading.follow(failures);
  await Promise.all(
    Array.from({ length: workers }, (_, worker) => working.work(worker, rounds, seed, failures)),
  );
  await killing;
  const direct = new AnimalStore({ key: place.key, url: place.urls()[0] ?? '' });
  await reading.end(direct);
  await read;
  failures.end();
  await checkStored(direct, working);
  await reading.check(direct);
  const { whole: _, ...met } = proxy.met;
  return {
    'writes, each applied once': working.seen.writes,
    'animals, orders and categories':
      working.expected.pets.size + working.expected.orders.size + working.categories.size,
    'events, each read once and in order by every reader': reading.seen.events,
    'resumptions by readers': reading.seen.resumed,
    'kill -9': kills,
    ...tally,
    'retries by the client': working.seen.retries,
    'calls repeated after no response': working.seen.calledAgain,
    'deletions that returned 404': working.seen.removedBefore,
    ...met,
  };
}

/** Checks that the store contains the acknowledged resources and nothing else. */
async function checkStored(store: AnimalStore, { expected, categories }: Workers): Promise<void> {
  const counts = { available: 0, pending: 0, sold: 0 };
  const pets = await store.pets.list().toArray();
  for (const { id, name, status } of pets) {
    same(`animal "${name}"`, `${id} ${status}`, textOf(expected.pets.get(name)));
    if (status !== null) counts[status]++;
  }
  same('the number of animals', pets.length, expected.pets.size);
  const orders = await store.orders.list().toArray();
  for (const { id, petId, status, reference = '' } of orders) {
    const order = expected.orders.get(reference);
    same(`order "${reference}"`, `${id} ${status} of ${petId}`, `${textOf(order)} of ${order?.petId}`);
  }
  same('the number of orders', orders.length, expected.orders.size);
  const named = await store.categories.list().toArray();
  for (const { id, name } of named) same(`category ${id}`, name, categories.get(id));
  same('the number of categories', named.length, categories.size);
  same('the inventory', JSON.stringify(await store.inventory.get()), JSON.stringify(counts));
}

const textOf = (stored: Stored | undefined) => `${stored?.id} ${stored?.status}`;

export const onceTests: readonly StressTest[] = shopKinds.map(({ name, title, open }) => ({
  name: `once${name}`,
  promise:
    "the client's writes, sent through a proxy that closes connections and delays or replaces responses, are each applied " +
    'exactly once, only one of several concurrent orders for an animal succeeds, an animal is pending exactly while an open ' +
    `order reserves it, feed readers get each event exactly once and in order, and a copy built from the events equals the store, despite kill -9 and outages, ${title} (rounds: writes)`,
  rounds: 10_000,
  async run(options) {
    await using place = await openOrThrow(open);
    return await eachOnce(place, options);
  },
}));
