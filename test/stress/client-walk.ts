/** The walk over a whole catalogue on a Free key: every animal once, as it is stored, and no request too many. */
import { AnimalStore, type Pet } from '../../client/src/index.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { plans, type Quota } from '../../src/domain/plan.ts';
import { embeddedStores } from '../process/worker-stores.ts';
import { newWorkplace } from '../support/cli.ts';
import { startCluster } from '../support/cluster.ts';
import { settingsIn } from '../support/process.ts';
import { same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { anyInt64 } from './generate/integers.ts';
import { anyName } from './generate/json-text.ts';
import { recordingProxy } from './recording-proxy.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

/** Where a catalogue is served, by one instance or several. */
export interface WalkPlace extends AsyncDisposable {
  readonly urls: readonly string[];
  /** Where the command line finds the store. */
  readonly environment: Readonly<Record<string, string>>;
  issueKey(quota?: Quota): Promise<{ key: string; accountId: number }>;
}

/** The animal that is imported as the `index`th. */
function animalAt(seed: number, index: number): Omit<Pet, 'id'> {
  const chance = new Chance(seed, index);
  return { name: anyName(chance), categoryId: anyInt64(chance), status: chance.pick(petStatuses) };
}

export const jsonOf = ({ name, categoryId, status }: Omit<Pet, 'id'>): string =>
  `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

/** `rounds` is the number of animals. */
export async function importAnimals(
  { environment }: WalkPlace,
  { rounds, seed }: StressOptions,
): Promise<void> {
  await using place = await newWorkplace({ store: false });
  const lines = Array.from({ length: rounds }, (_, index) => `${jsonOf(animalAt(seed, index))}\n`);
  const file = await place.write('animals.ndjson', lines.join(''));
  const { exitCode, stderr } = await place.run(['import', file], { environment });
  if (exitCode !== 0) throw new Error(`The import ended with ${exitCode}: ${stderr}`);
}

/** Walks over what was imported with the same options. */
export async function walkWithClient(
  place: WalkPlace,
  key: string,
  { rounds, seed, progress }: StressOptions,
): Promise<Figures> {
  await using proxy = recordingProxy(place.urls);
  let seen = 0;
  const store = new AnimalStore({ key, url: proxy.urlFor('walker'), pace: true });
  for await (const pet of store.pets.list({ limit: 100 })) {
    // The only one who adds animals has ids without a gap.
    same('the id', pet.id, BigInt(seen + 1));
    same(`animal ${pet.id}`, jsonOf(pet), jsonOf(animalAt(seed, seen)));
    if (++seen % 100 === 0) progress(`${seen} of ${rounds} animals`);
  }
  same('how many animals came', seen, rounds);
  const { requests } = proxy;
  same('requests that were refused', requests.filter(({ status }) => status !== 200).length, 0);
  const pages = requests.filter(({ target }) => target.startsWith('/v1/pets?')).length;
  same('pages', pages, Math.ceil(rounds / 100));
  return {
    'animals, each once and exact': seen,
    pages,
    'other requests, which are free': requests.length - pages,
    'answered 429': 0,
  };
}

/** `folder` has the store. */
export async function embeddedWalk(): Promise<WalkPlace & { readonly folder: string }> {
  await using made = new AsyncDisposableStack();
  const stores = made.use(await embeddedStores());
  const service = made.use(await stores.startInstance());
  const kept = made.move();
  return {
    folder: stores.folder,
    urls: [service.url],
    environment: settingsIn(stores.folder),
    issueKey: (quota) => stores.issueKey(quota),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Three instances; undefined when this machine has no servers to test with. */
async function clusterWalk(): Promise<WalkPlace | undefined> {
  const cluster = await startCluster({ instances: 3 });
  if (cluster === undefined) return undefined;
  const { postgres, redis, instances } = cluster;
  return {
    urls: instances.map(({ url }) => url),
    environment: { DATABASE_URL: postgres.url, REDIS_URL: redis.url },
    issueKey: (quota) => cluster.issueKey(quota),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const kinds = [
  { name: '', title: 'on the embedded store', open: embeddedWalk },
  { name: '-cluster', title: 'on three instances with PostgreSQL and Redis', open: clusterWalk },
] as const;

export const clientWalkTests: readonly StressTest[] = kinds.map(({ name, title, open }) => ({
  name: `client-walk${name}`,
  promise:
    'the client walks over all animals on a Free key, 100 a page and paced: each comes once and to the digit, ' +
    `and no request is refused, ${title} (rounds: animals)`,
  rounds: 66_042,
  async run(options) {
    await using place = await open();
    if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    await importAnimals(place, options);
    const { key } = await place.issueKey(plans.free);
    return await walkWithClient(place, key, options);
  },
}));
