/** The service that the buyers buy from, and all that happens to it. */
import { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { SQL } from 'bun';
import type { AdminServices } from '../../../src/app/app.ts';
import { scopes } from '../../../src/domain/scope.ts';
import { embeddedStores } from '../../process/worker-stores.ts';
import { startCluster } from '../../support/cluster.ts';
import { readiness } from '../../support/load.ts';
import { ample, dataFileIn, type Service } from '../../support/process.ts';
import { childrenOf } from '../../support/process-tree.ts';
import { until } from '../../support/wait.ts';
import type { Chance } from '../generate/chance.ts';

export interface Ground extends AsyncDisposable {
  /** Of an account that nobody exhausts. */
  readonly key: string;
  /** Where the service can be called; some of it may be away. */
  readonly urls: readonly string[];
  /** Kills what `chance` chooses, at once, and puts it in its place again; returns what it was. */
  kill(chance: Chance): Promise<string>;
  /** Takes a server away for a while, and returns what happened to it; there are none for an embedded store. */
  takeAway?(chance: Chance): Promise<string>;
  /** What the store itself says, past the service. */
  rows<Row>(statement: string): Promise<Row[]>;
}

async function keyOf({ accounts, keys }: AdminServices): Promise<string> {
  const { id } = await accounts.create('buyers', 'enterprise', ample);
  return (await keys.create(id, 'buyers', undefined, scopes)).key;
}

const quiet = { LOG_LEVEL: 'info', LOG_REQUESTS: 'off' };

/** One service with two workers on an embedded store. */
export async function embeddedGround(): Promise<Ground> {
  await using made = new AsyncDisposableStack();
  const stores = made.use(await embeddedStores());
  const start = () => stores.startInstance(quiet);
  let service = await start();
  const key = await keyOf(stores.operator);
  const kept = made.move();
  return {
    key,
    get urls() {
      return [service.url];
    },
    kill: async (chance) => {
      if (chance.often(0.6)) return killWorker(service, chance);
      // Workers first: without the process that writes they would answer 503.
      for (const pid of [...childrenOf(service.pid), service.pid]) process.kill(pid, 'SIGKILL');
      await service.exited;
      service = await start();
      return 'the whole service';
    },
    rows: async <Row>(statement: string) => {
      using database = new Database(dataFileIn(stores.folder), { readonly: true });
      return database.query<Row, []>(statement).all();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function killWorker(service: Service, chance: Chance): Promise<string> {
  const serving = () => service.stderr().split('"msg":"worker serving"').length;
  const before = serving();
  process.kill(chance.pick(childrenOf(service.pid)), 'SIGKILL');
  await until(() => serving() > before);
  return 'a worker';
}

const instanceCount = 3;

/** Three instances on PostgreSQL and Redis; undefined when this machine has none. */
export async function clusterGround(): Promise<Ground | undefined> {
  const cluster = await startCluster({
    instances: 0,
    environment: { ...quiet, REDIS_TIMEOUT_MS: '50' },
  });
  if (cluster === undefined) return undefined;
  await using made = new AsyncDisposableStack();
  made.use(cluster);
  const start = () => cluster.startInstance();
  const instances = await Promise.all(Array.from({ length: instanceCount }, start));
  const key = await keyOf(cluster.operator);
  const kept = made.move();
  const urls = () => instances.map(({ url }) => url);
  return {
    key,
    get urls() {
      return urls();
    },
    kill: async (chance) => {
      const isOne = chance.often(0.9);
      const victims = isOne ? [chance.int(0, instanceCount - 1)] : [...instances.keys()];
      for (const victim of victims) instances[victim]?.signal('SIGKILL');
      await Promise.all(
        victims.map(async (victim) => {
          await instances[victim]?.exited;
          instances[victim] = await start();
        }),
      );
      return isOne ? 'an instance' : 'all instances';
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
      await until(async () => {
        const said = await Promise.all(urls().map(readiness));
        return said.every(({ status }) => status === 'ready');
      });
      return `${name} ${fault}`;
    },
    rows: async (statement) => {
      await using sql = new SQL(cluster.postgres.url, { max: 1 });
      return [...(await sql.unsafe(statement))];
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
