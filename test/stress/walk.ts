import { embeddedStores, serverStores, type WorkerStores } from '../process/worker-stores.ts';
import { patientSettings } from '../support/cluster.ts';
import { testServers } from '../support/servers.ts';
import type { StressOptions, StressResult, StressTest } from './stress-test.ts';
import { walkAlike } from './walk/alike.ts';
import { Caller, callerKeys } from './walk/caller.ts';
import { walk } from './walk/walk.ts';

const mostClients = 64;

/** Webhooks are switched off, because no server listens at the webhook URLs that the walk creates. */
const walkSettings = { LOG_LEVEL: 'warn', WEBHOOKS: 'off', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

/**
 * Deployments of the walk: one service with two workers on the embedded store, or two instances with PostgreSQL and
 * Redis.
 */
const grounds = {
  embedded: { open: embeddedStores, instances: 1, workers: '2' },
  cluster: { open: () => serverStores(patientSettings), instances: 2, workers: '1' },
} as const;

export type Ground = keyof typeof grounds;

/** Returns undefined if no database servers are available for tests. */
export async function walkOn(
  ground: Ground,
  { rounds, seed, progress }: StressOptions,
  clients = mostClients,
): Promise<StressResult | undefined> {
  const { open, instances, workers } = grounds[ground];
  await using stores: WorkerStores | undefined = await open();
  if (stores === undefined) return undefined;
  const services = await Promise.all(
    Array.from({ length: instances }, () => stores.startInstance({ ...walkSettings, WORKERS: workers })),
  );
  const urls = services.map(({ url }) => url);
  using callers = new DisposableStack();
  const { ways, ...figures } = await walk({
    seed,
    steps: rounds,
    clients,
    stepsBetweenPauses: Math.min(2_000, Math.ceil(rounds / 3)),
    progress,
    sendOf: async () => {
      const caller = callers.use(new Caller(urls, await callerKeys(stores.operator)));
      return (request, chance) => caller.send(request, chance);
    },
  });
  return {
    'requests with the expected response': figures.steps,
    'of these about contended objects': figures.contended,
    'pauses, with a full comparison of the store': figures.pauses,
    'animals at the end': figures.animals,
    'orders at the end': figures.orders,
    'distinct outcomes of operations': ways,
  };
}

function walkTest(name: string, where: string, ground: Ground): StressTest {
  return {
    name,
    promise:
      `in a random walk over all operations by ${mostClients} clients ${where}, every response matches a model in memory, and at ` +
      'every pause the store equals the model and the inventory equals a full count (rounds: requests)',
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
    'the walk of one client gets the same responses on SQLite and on PostgreSQL: status, headers and body, including ids ' +
    'and times (rounds: requests)',
  rounds: 100_000,
  async run({ rounds, seed, progress }) {
    await using servers = await testServers();
    if (servers === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    return {
      'responses compared': await walkAlike(servers, {
        crossesDays: true,
        steps: rounds,
        mostSteps: 10 * rounds,
        seed,
        progress,
      }),
    };
  },
};

export const walkTests: readonly StressTest[] = [
  walkTest('walk', 'on the embedded store with two workers', 'embedded'),
  walkTest('walk-cluster', 'on two instances with PostgreSQL and Redis', 'cluster'),
  walkBoth,
];
