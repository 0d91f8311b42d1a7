/** Writes of the client through a proxy that spoils half of them: each is done exactly once, and the client tells what came of it. */
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
import { checkStored } from './once.ts';
import { Expected, liveOnce, type Stored, type Write } from './once-work.ts';
import { clusterShop, embeddedShop, type ShopKind, type ShopPlace } from './shop-places.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const mostWorkers = 32;
/** Writes of a worker at least; a life has about as many. */
const writesEach = 10;
/** How often a request is spoiled. What a call repeats on its own is bounded, so that some calls end without an answer. */
const spoiled = 0.3;
/** How long the client waits for an answer, and how long one takes that comes late, milliseconds. */
const patience = { timeoutMs: 1_000, lateMs: 1_500 } as const;
/** Cuts come more often than the rest, each of which stops a worker, or all, for a second. */
const fates = [...cuts, ...cuts, ...balancers];

const steps = ['approve', 'deliver', 'cancel', 'return'] as const;

/** Performs a write with the client. Ids are small enough here for numbers. */
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
  return { id: Number(answer.id), status: answer.status };
}

/** Whether a call ended without knowing whether it was done. */
const isUnknown = (error: unknown) =>
  [ConnectionError, TimeoutError, ServerError, UnavailableError].some((kind) => error instanceof kind);

/** One life after the other until that many writes are done. */
class Workers {
  readonly expected = new Expected();
  readonly categories = new Map<bigint, string>();
  readonly #store: AnimalStore;
  readonly seen = { writes: 0, retries: 0, calledAgain: 0, removedBefore: 0 };

  constructor(url: string, key: string) {
    const onRetry = () => {
      this.seen.retries++;
    };
    this.#store = new AnimalStore({ key, url, timeoutMs: patience.timeoutMs, onRetry });
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

  /** Changes and removals, which take no Idempotency-Key, of an animal and a category of their own. */
  async #changeAndRemove(name: string, categoryId: bigint): Promise<void> {
    const { pets, categories } = this.#store;
    const put = await this.#done(() => categories.put(categoryId, { name }));
    same('the name of the category', put.name, name);
    this.categories.set(categoryId, name);
    const gone = { name: `${name}, gone`, categoryId };
    const { id } = await this.#done(() => pets.create(gone, { idempotencyKey: `gone-${name}` }));
    const { status } = await this.#done(() => pets.update(id, { status: 'pending' }));
    same('the status after the change', status, 'pending');
    await this.#remove(id);
  }

  /** Runtimes repeat DELETE on their own when a connection they used before breaks; the second is told that nothing is there. */
  async #remove(id: bigint): Promise<void> {
    await this.#done(() => this.#store.pets.delete(id)).catch((error) => {
      if (!(error instanceof NotFoundError)) throw error;
      this.seen.removedBefore++;
    });
  }

  /** Calls until it is known that it was done, as programs do that keep their keys. */
  async #done<Data>(call: () => Promise<Data>): Promise<Data> {
    for (;;) {
      try {
        const data = await call();
        this.seen.writes++;
        return data;
      } catch (error) {
        if (!isUnknown(error)) throw error;
        this.seen.calledAgain++;
      }
    }
  }
}

/** `rounds` is the number of writes. */
export async function eachOnceByClient(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
): Promise<Figures> {
  const spoiling = { part: spoiled, fates, lateMs: patience.lateMs };
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1), spoiling);
  const failures = new Failures(seed);
  const working = new Workers(proxy.url, place.key);
  const workers = Math.min(mostWorkers, Math.ceil(rounds / writesEach));
  const telling = setInterval(() => progress(`${working.seen.writes} of ${rounds} writes`), 1_000);
  try {
    await Promise.all(
      Array.from({ length: workers }, (_, worker) => working.work(worker, rounds, seed, failures)),
    );
  } finally {
    clearInterval(telling);
  }
  failures.end();
  await checkStored(place, working.expected);
  await checkCategories(place, working.categories);
  const spoilt = Object.entries(proxy.met).filter(([fate]) => fate !== 'whole');
  return {
    'writes, each done once': working.seen.writes,
    'repeated by the client': working.seen.retries,
    'ended without an answer and called again': working.seen.calledAgain,
    'removals told that nothing is there': working.seen.removedBefore,
    'animals, orders and categories':
      working.expected.pets.size + working.expected.orders.size + working.categories.size,
    ...Object.fromEntries(
      spoilt.map(([fate, times]) => [cuts.some((cut) => cut === fate) ? `cut ${fate}` : fate, times]),
    ),
  };
}

async function checkCategories(
  { key, urls }: ShopPlace,
  expected: ReadonlyMap<bigint, string>,
): Promise<void> {
  const [url = ''] = urls();
  let count = 0;
  for await (const { id, name } of new AnimalStore({ key, url }).categories.list()) {
    same(`category ${id}`, name, expected.get(id));
    count++;
  }
  same('the number of categories', count, expected.size);
}

export const clientOnceKinds: readonly ShopKind[] = [
  { name: '', title: 'on the embedded store', open: () => embeddedShop(1) },
  { name: '-cluster', title: 'on three instances with PostgreSQL and Redis', open: () => clusterShop(3) },
];

export const clientOnceTests: readonly StressTest[] = clientOnceKinds.map(({ name, title, open }) => ({
  name: `client-once${name}`,
  promise:
    'writes of the client are each done exactly once, and none is lost, through a proxy that cuts connections, ' +
    `holds answers up and replaces them, ${title} (rounds: writes)`,
  rounds: 10_000,
  async run(options) {
    await using place = await open();
    if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    return await eachOnceByClient(place, options);
  },
}));
