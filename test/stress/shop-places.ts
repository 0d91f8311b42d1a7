/**
 * Deployments for tests that kill processes: one process or two workers with the embedded store, or three instances.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AdminServices } from '../../src/app/app.ts';
import { scopes } from '../../src/domain/scope.ts';
import { embeddedStores } from '../process/worker-stores.ts';
import { startCluster } from '../support/cluster.ts';
import { untilAll } from '../support/load.ts';
import { ample, type Service, serveWith } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { until } from '../support/wait.ts';
import type { Chance } from './generate/chance.ts';

export interface ShopPlace extends AsyncDisposable {
  /** A key with all scopes, for an account whose limits are too high for tests to reach. */
  readonly key: string;
  /** Addresses of the running instances, which share one store. */
  urls(): readonly string[];
  /**
   * Kills random processes with `kill -9`. Resolves with a description of the killed processes when all have restarted.
   */
  kill(chance: Chance): Promise<string>;
  /** Kills all processes with `kill -9`, and restarts them with their clocks advanced by `ms`. */
  skip(ms: number): Promise<void>;
  /** How far the services' clocks are ahead of this process's clock. */
  readonly aheadMs: number;
  /**
   * Makes a database server unavailable for up to 1.5 s and returns a description of the fault. Undefined for embedded
   * stores.
   */
  takeAway?(chance: Chance): Promise<string>;
}

type Settings = Readonly<Record<string, string>>;

/** Opens a deployment with additional settings. Returns undefined if no database servers are available for tests. */
type Open = (settings?: Settings) => Promise<ShopPlace | undefined>;

export const shopKinds: readonly { readonly name: string; readonly title: string; readonly open: Open }[] = [
  { name: '', title: 'on the embedded store', open: (settings) => embeddedShop(1, settings) },
  {
    name: '-workers',
    title: 'on the embedded store with two workers',
    open: (settings) => embeddedShop(2, settings),
  },
  { name: '-cluster', title: 'on three instances with PostgreSQL and Redis', open: clusterShop },
];

async function ownerKey({ accounts, keys }: AdminServices): Promise<string> {
  const { id } = await accounts.create('shop', 'enterprise', ample);
  return (await keys.create(id, 'owner', undefined, scopes)).key;
}

const quiet = { LOG_LEVEL: 'info', LOG_REQUESTS: 'off' };

/** Arguments that start a service with its clock advanced. */
const laterDate = serveWith('test/support/later-date.ts');
const dateAhead = (ms: number) => ({ DATE_AHEAD_MS: String(ms) });

async function embeddedShop(workers: number, settings: Settings = {}): Promise<ShopPlace> {
  await using made = new AsyncDisposableStack();
  const stores = made.use(await embeddedStores());
  const key = await ownerKey(stores.operator);
  let aheadMs = 0;
  const start = () =>
    stores.startInstance(
      { ...quiet, ...settings, ...dateAhead(aheadMs), WORKERS: String(workers) },
      laterDate,
    );
  let service: Service | undefined = await start();
  const killAll = async () => {
    if (service === undefined) throw new Error('The service is already being killed.');
    const killed = service;
    service = undefined;
    // Kills the workers first, because they return 503 as soon as the writing process has ended.
    for (const pid of [...childrenOf(killed.pid), killed.pid]) process.kill(pid, 'SIGKILL');
    await killed.exited;
  };
  const kept = made.move();
  return {
    key,
    urls: () => (service === undefined ? [] : [service.url]),
    kill: async (chance) => {
      if (service !== undefined && workers > 1 && chance.often(0.6)) return killWorker(service, chance);
      await killAll();
      service = await start();
      return 'the whole service';
    },
    skip: async (ms) => {
      await killAll();
      aheadMs += ms;
      service = await start();
    },
    get aheadMs() {
      return aheadMs;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function killWorker({ pid, stderr }: Service, chance: Chance): Promise<string> {
  const serving = () => stderr().split('"msg":"worker serving"').length;
  const before = serving();
  process.kill(chance.pick(childrenOf(pid)), 'SIGKILL');
  await until(() => serving() > before);
  return 'a worker';
}

/** A short timeout detects an outage of Redis quickly. */
const impatient = { REDIS_TIMEOUT_MS: '50' };

async function clusterShop(settings: Settings = {}): Promise<ShopPlace | undefined> {
  const environment = { ...quiet, ...impatient, ...settings };
  const cluster = await startCluster({ instances: 0, environment });
  if (cluster === undefined) return undefined;
  const key = await ownerKey(cluster.operator);
  let aheadMs = 0;
  const start = () => cluster.startInstance(dateAhead(aheadMs), laterDate);
  const instances = await Promise.all([start(), start(), start()]);
  const urls = () => instances.map(({ url }) => url);
  const kill = async (victims: readonly Service[]) => {
    for (const victim of victims) victim.signal('SIGKILL');
    await Promise.all(victims.map(({ exited }) => exited));
  };
  const replace = (victims: readonly Service[]) =>
    Promise.all(victims.map(async () => instances.push(await start())));
  return {
    key,
    urls,
    kill: async (chance) => {
      const isOne = chance.often(0.9);
      const victims = instances.splice(
        isOne ? chance.int(0, instances.length - 1) : 0,
        isOne ? 1 : undefined,
      );
      await kill(victims);
      await replace(victims);
      return isOne ? 'an instance' : 'all instances';
    },
    skip: async (ms) => {
      const victims = instances.splice(0);
      await kill(victims);
      aheadMs += ms;
      await replace(victims);
    },
    get aheadMs() {
      return aheadMs;
    },
    takeAway: async (chance) => {
      const name = chance.pick(['postgres', 'redis'] as const);
      const fault = chance.pick(['stopped', 'killed', 'frozen']);
      const server = cluster[name];
      if (fault === 'frozen') await server.freeze();
      else await server.stop(fault === 'killed' ? 'SIGKILL' : 'SIGTERM');
      await sleep(chance.int(50, 1_500));
      if (fault === 'frozen') await server.thaw();
      else await server.start();
      await untilAll(urls(), 'ready');
      return `${name} ${fault}`;
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
