/** Where the shop is served, for proofs that kill what serves it: on either store, by one process or several. */

import type { AdminServices } from '../../src/app/app.ts';
import { scopes } from '../../src/domain/scope.ts';
import { patientSettings, startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, makeStore, operatorOf, type Service, startService } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { until } from '../support/wait.ts';
import type { Chance } from './generate/chance.ts';

export interface ShopPlace extends AsyncDisposable {
  /** A key that may do everything, without limits that anybody reaches. */
  readonly key: string;
  /** Where it is served now; several instances serve one store. */
  urls(): readonly string[];
  /** `kill -9` of processes that serve it, chosen by chance. Resolves when all are back. */
  kill(chance: Chance): Promise<void>;
}

export interface ShopKind {
  readonly name: string;
  readonly title: string;
  readonly open: () => Promise<ShopPlace | undefined>;
}

export const shopKinds: readonly ShopKind[] = [
  { name: '', title: 'on the embedded store', open: () => embeddedShop(1) },
  { name: '-workers', title: 'on the embedded store with two workers', open: () => embeddedShop(2) },
  { name: '-cluster', title: 'on two instances with PostgreSQL and Redis', open: () => clusterShop(2) },
];

async function ownerKey({ accounts, keys }: AdminServices): Promise<string> {
  const { id } = await accounts.create('shop', 'enterprise', ample);
  return (await keys.create(id, 'owner', undefined, scopes)).key;
}

export async function embeddedShop(workers: number): Promise<ShopPlace> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  await makeStore(folder.path);
  const operator = started.use(await operatorOf(folder.path));
  const key = await ownerKey(operator);
  const settings = { WORKERS: String(workers), LOG_LEVEL: 'info', DRAIN_SECONDS: '0' };
  const start = async () => kept.use(await startService(folder.path, settings));
  const kept = started.move();
  let service: Service | undefined = await start();
  const killAll = async (killed: Service) => {
    service = undefined;
    // Workers first: without the process that writes they would answer 503.
    for (const pid of [...childrenOf(killed.pid), killed.pid]) process.kill(pid, 'SIGKILL');
    await killed.exited;
    service = await start();
  };
  return {
    key,
    urls: () => (service === undefined ? [] : [service.url]),
    kill: async (chance) => {
      if (service === undefined) throw new Error('It is being killed already.');
      if (workers > 1 && chance.often(0.5)) await killWorker(service, chance);
      else await killAll(service);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function killWorker({ pid, stderr }: Service, chance: Chance): Promise<void> {
  const serving = () => stderr().split('"msg":"worker serving"').length;
  const before = serving();
  process.kill(chance.pick(childrenOf(pid)), 'SIGKILL');
  await until(() => serving() > before);
}

/** Undefined when this machine has no servers to test with. */
export async function clusterShop(count: number): Promise<ShopPlace | undefined> {
  const cluster = await startCluster({ instances: count, environment: patientSettings });
  if (cluster === undefined) return undefined;
  const key = await ownerKey(cluster.operator);
  const instances = [...cluster.instances];
  return {
    key,
    urls: () => instances.map(({ url }) => url),
    kill: async (chance) => {
      const [killed] = instances.splice(chance.int(0, instances.length - 1), 1);
      killed?.signal('SIGKILL');
      await killed?.exited;
      instances.push(await cluster.startInstance());
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
