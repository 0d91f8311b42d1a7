import { afterAll, beforeAll, test } from 'bun:test';
import type { AdminServices } from '../../src/app/app.ts';
import type { Quota } from '../../src/domain/plan.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  makeStore,
  operatorOf,
  type Running,
  type Service,
  serveCommand,
  settingsIn,
  start,
  startService,
} from '../support/process.ts';
import type { BeginDrained } from './drain.ts';

type Environment = Readonly<Record<string, string>>;

/** A store and its admin services. The store's instances have two workers by default. */
export interface WorkerStores extends AsyncDisposable {
  readonly operator: AdminServices;
  /** `command` defaults to the command that starts the service. */
  startInstance(environment?: Environment, command?: readonly string[]): Promise<Service>;
  /** Starts an instance without waiting until it is ready. */
  begin(environment?: Environment): Running;
  /** Starts an instance that the test then stops. */
  readonly beginDrained: BeginDrained;
  /** Creates an account and returns a key for it. */
  issueKey(quota?: Quota): Promise<{ key: string; keyId: number; accountId: number }>;
}

/** An embedded store, in a new folder. */
interface EmbeddedStores extends WorkerStores {
  readonly folder: string;
}

const twoWorkers = { WORKERS: '2', DRAIN_SECONDS: '0' };

export async function embeddedStores(): Promise<EmbeddedStores> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  await makeStore(folder.path);
  const operator = made.use(await operatorOf(folder.path));
  const kept = made.move();
  return {
    folder: folder.path,
    ...storesOf(operator, settingsIn(folder.path), async (environment, command) =>
      kept.use(await startService(folder.path, environment, command)),
    ),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/**
 * Creates a store on new database servers. Returns undefined if no database servers are available for tests. The
 * admin services use the same environment.
 */
export async function serverStores(environment: Environment = {}): Promise<WorkerStores | undefined> {
  const cluster = await startCluster({ instances: 0, environment });
  if (cluster === undefined) return undefined;
  const { operator, postgres, redis, startInstance } = cluster;
  const settings = { PORT: '0', DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  return {
    ...storesOf(operator, settings, startInstance),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

function storesOf(
  operator: AdminServices,
  settings: Environment,
  startInstance: (environment: Environment, command?: readonly string[]) => Promise<Service>,
): Omit<WorkerStores, keyof AsyncDisposable> {
  const issueKey = async (quota = ample) => {
    const { id: accountId } = await operator.accounts.create('shop', 'enterprise', quota);
    const { key, id: keyId } = await operator.keys.create(accountId, 'till');
    return { key, keyId, accountId };
  };
  return {
    operator,
    startInstance: (environment = {}, command) => startInstance({ ...twoWorkers, ...environment }, command),
    begin: (environment = {}) =>
      start(serveCommand, { environment: { ...settings, ...twoWorkers, ...environment } }),
    beginDrained: async (environment) => {
      const service = await startInstance({ ...twoWorkers, ...environment });
      const { key } = await issueKey();
      return { service, key, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
    },
    issueKey,
  };
}

type StoresTest<Stores> = (name: string, body: (stores: Stores) => Promise<void>) => void;

/** Defines tests that each run on a new embedded store. */
export function embeddedTests(define: typeof test = test): StoresTest<EmbeddedStores> {
  return (name, body) =>
    define(`${name}, on the embedded store`, async () => {
      await using stores = await embeddedStores();
      await body(stores);
    });
}

/** Defines tests that each run on every available kind of store. All tests of a file share the database servers. */
export function workersTests(define: typeof test = test): StoresTest<WorkerStores> {
  const onEmbedded = embeddedTests(define);
  let servers: WorkerStores | undefined;
  beforeAll(async () => {
    servers = await serverStores();
  });
  afterAll(() => servers?.[Symbol.asyncDispose]());
  return (name, body) => {
    onEmbedded(name, body);
    define(`${name}, on PostgreSQL and Redis`, async () => {
      // The test is skipped; the missing servers have already been reported.
      if (servers !== undefined) await body(servers);
    });
  };
}
