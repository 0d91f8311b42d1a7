/** Writes of the client through a proxy that spoils half of them: each is done exactly once, and the client tells what came of it. */
import { AnimalStore } from '../../client/src/index.ts';
import { balancers, cuts, cuttingProxy } from './cutting-proxy.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { checkStored } from './once.ts';
import { Expected, liveOnce, type Write } from './once-work.ts';
import { clusterShop, embeddedShop, type ShopKind, type ShopPlace } from './shop-places.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const workers = 32;
/** A client that is spoiled this often meets each fate thousands of times, and six in a row now and then. */
const spoiled = 0.3;
/** How long the client waits for an answer, and how long one takes that comes late, milliseconds. */
const patience = { timeoutMs: 1_000, lateMs: 1_500 } as const;
/** How long a call repeats what failed: longer than any row of failures lasts. */
const maxWaitSeconds = 600;

const steps = ['approve', 'deliver', 'cancel', 'return'] as const;

/** Performs a write with the client. What is answered has ids that are small enough for numbers. */
async function perform(store: AnimalStore, { target, body }: Write): Promise<{ id: number; status: string }> {
  const given = JSON.parse(body ?? '{}');
  const [, id = '', step = ''] = /^\/orders\/(\d+)\/(\w+)$/.exec(target) ?? [];
  const known = steps.find((one) => one === step);
  const answer =
    target === '/pets'
      ? await store.pets.create({ name: given.name, categoryId: BigInt(given.categoryId) })
      : known === undefined
        ? await store.orders.place({ petId: BigInt(given.petId), reference: given.reference })
        : await store.orders[known](BigInt(id));
  return { id: Number(answer.id), status: answer.status };
}

/** One life after the other until that many writes are done. */
class Workers {
  readonly expected = new Expected();
  readonly categories = new Map<bigint, string>();
  readonly #store: AnimalStore;
  writes = 0;

  constructor(url: string, key: string) {
    this.#store = new AnimalStore({ key, url, timeoutMs: patience.timeoutMs, maxWaitSeconds });
  }

  async work(worker: number, writes: number, seed: number, failures: Failures): Promise<void> {
    for (let number = 0; this.writes < writes && failures.count === 0; number++) {
      const name = `${worker}-${number}`;
      const chance = new Chance(seed, worker * 1_000_000 + number);
      await failures.guard(name, async () => {
        await liveOnce(name, chance, this.expected, (write) => this.#counted(perform(this.#store, write)));
        await this.#changeAndRemove(name, BigInt(worker * 1_000_000 + number));
      });
    }
  }

  /** Changes and removals, which take no Idempotency-Key, of an animal and a category of their own. */
  async #changeAndRemove(name: string, categoryId: bigint): Promise<void> {
    const { pets, categories } = this.#store;
    same('the category', (await this.#counted(categories.put(categoryId, { name }))).name, name);
    this.categories.set(categoryId, name);
    const { id } = await this.#counted(pets.create({ name: `${name}, gone`, categoryId }));
    same('the change', (await this.#counted(pets.update(id, { status: 'pending' }))).status, 'pending');
    await this.#counted(pets.delete(id));
  }

  async #counted<Answer>(call: Promise<Answer>): Promise<Answer> {
    const answer = await call;
    this.writes++;
    return answer;
  }
}

/** `rounds` is the number of writes. */
export async function eachOnceByClient(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
): Promise<Figures> {
  const spoiling = { part: spoiled, fates: [...cuts, ...balancers], lateMs: patience.lateMs };
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1), spoiling);
  const failures = new Failures(seed);
  const working = new Workers(proxy.url, place.key);
  const telling = setInterval(() => progress(`${working.writes} of ${rounds} writes`), 1_000);
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
    'writes, each done once': working.writes,
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
