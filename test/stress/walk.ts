import { scopes } from '../../src/domain/scope.ts';
import { embeddedStores, serverStores, type WorkerStores } from '../process/worker-stores.ts';
import { patientSettings } from '../support/cluster.ts';
import { ample } from '../support/process.ts';
import { testServers } from '../support/servers.ts';
import { bytesOf } from './generate/http.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';
import { walkAlike } from './walk/alike.ts';
import { headersOf, type Request } from './walk/request.ts';
import { type WalkOptions, walk } from './walk/walk.ts';
import type { Send } from './walk/walker.ts';
import { Wire } from './wire.ts';

const full: Extent = { clients: 64, meetsAll: true };

/** How far a walk goes. */
export type Extent = Pick<WalkOptions, 'clients' | 'meetsAll'>;

/** What a walk goes over: on the embedded store one service with two workers, else two instances. */
const grounds = {
  embedded: { open: embeddedStores, instances: 1, workers: '2' },
  cluster: { open: () => serverStores(patientSettings), instances: 2, workers: '1' },
} as const;

export type Ground = keyof typeof grounds;

/** Undefined when this machine has no servers for it. */
export async function walkOn(
  ground: Ground,
  { rounds, seed, progress }: StressOptions,
  extent = full,
): Promise<Figures | undefined> {
  const { open, instances, workers } = grounds[ground];
  await using stores: WorkerStores | undefined = await open();
  if (stores === undefined) return undefined;
  const services = await Promise.all(
    Array.from({ length: instances }, () => stores.startInstance({ LOG_LEVEL: 'warn', WORKERS: workers })),
  );
  const urls = services.map(({ url }) => url);
  using wires = new DisposableStack();
  const { ways, ...figures } = await walk({
    seed,
    steps: rounds,
    ...extent,
    stepsBetweenPauses: Math.min(2_000, Math.ceil(rounds / 3)),
    progress,
    sendOf: () => sendOf(stores, urls, wires),
  });
  return {
    'requests answered as the model says': figures.steps,
    'of these about what others changed, too': figures.contended,
    'pauses, the store read whole at each': figures.pauses,
    'animals in the end': figures.animals,
    'orders in the end': figures.orders,
    'ways in which operations were answered': ways,
  };
}

/** A client with an account of its own, and a connection to each instance. */
async function sendOf(
  { operator }: WorkerStores,
  urls: readonly string[],
  wires: DisposableStack,
): Promise<Send> {
  const { id } = await operator.accounts.create('walk', 'enterprise', ample);
  const { key } = await operator.keys.create(id, 'all', undefined, scopes);
  const { key: limitedKey } = await operator.keys.create(id, 'few');
  const connections = urls.map((url) => [new Wire(url), new Wire(url)] as const);
  for (const wire of connections.flat()) wires.use(wire);
  const busy = new Set<Wire>();
  return async (request, chance) => {
    // A request that is sent twice at once needs two connections.
    const [first, second] = chance.pick(connections);
    const wire = busy.has(first) ? second : first;
    busy.add(wire);
    try {
      return await wire.send(
        wireBytes(request, request.isLimited ? limitedKey : key),
        request.method === 'HEAD',
      );
    } finally {
      busy.delete(wire);
    }
  };
}

function wireBytes(request: Request, key: string): Uint8Array {
  const { method, target, body } = request;
  const headers = Object.entries({ Authorization: `Bearer ${key}`, ...headersOf(request) });
  return bytesOf({ method, target, headers, ...(body !== undefined && { body: Buffer.from(body) }) });
}

function walkTest(name: string, where: string, ground: Ground): StressTest {
  return {
    name,
    promise:
      `a random walk of all operations by ${full.clients} clients ${where}: every answer is as a model in memory says, and at ` +
      'every pause the store is the model, and the inventory a full count (rounds: requests)',
    rounds: 100_000,
    async run(options) {
      const figures = await walkOn(ground, options);
      if (figures === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
      return figures;
    },
  };
}

const walkBoth: StressTest = {
  name: 'walk-both',
  promise:
    'the walk of one client gets the same answers on SQLite and on PostgreSQL: status, headers and body, ids and times ' +
    'included (rounds: requests)',
  rounds: 100_000,
  async run({ rounds, seed, progress }) {
    await using servers = await testServers();
    if (servers === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    return { 'answers compared': await walkAlike(servers, { steps: rounds, seed, progress }) };
  },
};

export const walkTests: readonly StressTest[] = [
  walkTest('walk', 'on the embedded store with two workers', 'embedded'),
  walkTest('walk-cluster', 'on two instances with PostgreSQL and Redis', 'cluster'),
  walkBoth,
];
