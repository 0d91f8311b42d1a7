import { chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Refusal, ShopDatabase } from '../faults/refusals.ts';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { allNames, type Load, load, readiness } from '../support/load.ts';
import { serverUser } from '../support/server-process.ts';
import { until } from '../support/wait.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

/** The promise: back, unattended, this soon. */
const recoveryMs = 10_000;
const instances = 3;
const poolSize = 10;
const allowedConnections = 5;
const connectionsServed = 200;

interface Tally {
  readonly acknowledged: string[];
  refused: number;
  slowestRecoveryMs: number;
  slowestAnswerMs: number;
}

/** A disk of a few megabytes for the animals; undefined where the machine lets us mount none. */
async function smallDisk(database: ShopDatabase, folder: string): Promise<Refusal | undefined> {
  const path = join(folder, 'disk');
  await mkdir(path);
  const mount = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=48m', 'animal-store', path]);
  if (mount.exitCode !== 0) return undefined;
  const user = serverUser();
  if (user !== undefined) {
    for (const there of [folder, path]) await chown(there, user, user);
  }
  await database.inside(
    `CREATE TABLESPACE small LOCATION '${path}'`,
    'ALTER TABLE pets SET TABLESPACE small',
    'ALTER INDEX pets_pkey SET TABLESPACE small',
    'ALTER INDEX pets_by_status SET TABLESPACE small',
  );
  const ballast = join(path, 'ballast');
  return {
    begin: async () => {
      const fill = ['dd', 'if=/dev/zero', `of=${ballast}`, 'bs=64k'];
      Bun.spawnSync(fill, { stderr: 'ignore' });
    },
    end: () => rm(ballast),
    reason: /No space left on device/,
  };
}

class Drill {
  readonly #cluster: Cluster;
  readonly #clients: readonly Client[];
  readonly tally: Tally = { acknowledged: [], refused: 0, slowestRecoveryMs: 0, slowestAnswerMs: 0 };

  constructor(cluster: Cluster, key: string) {
    this.#cluster = cluster;
    this.#clients = cluster.instances.map(({ url }) => clientOf(url, key));
  }

  begin(name: string): Load[] {
    const at = (number: number) => this.#clients[number % instances] as Client;
    return [
      load(12, (number) => at(number).add(`${name} ${number}`)),
      load(12, (number) => at(number).get(`/pets/${number + 1}`)),
    ];
  }

  /** All instances say that, by /readyz and, if there is a reason to give, by their logs since they were this long. */
  async areAll(status: string, reason = /(?:)/, since: readonly number[] = []): Promise<boolean> {
    const said = await Promise.all(this.#cluster.instances.map(({ url }) => readiness(url)));
    const logs = this.#cluster.instances.map(({ stderr }, index) => stderr().slice(since[index]));
    return said.every((one) => one.status === status) && logs.every((log) => reason.test(log));
  }

  logLengths(): number[] {
    return this.#cluster.instances.map(({ stderr }) => stderr().length);
  }

  /** All instances add an animal and say that they are ready. */
  async recovered(): Promise<void> {
    const tookMs = await until(async () => {
      if (!(await this.areAll('ready'))) return false;
      const added = await Promise.all(this.#clients.map((client) => client.add('back')));
      return added.every(({ status }) => status === 201);
    }, recoveryMs);
    this.tally.slowestRecoveryMs = Math.max(this.tally.slowestRecoveryMs, tookMs);
  }

  /** The share of requests answered 503 once every instance serves. */
  async refusedWhenSettled(): Promise<number> {
    let inARow = 0;
    await until(async () => {
      const added = await Promise.all(this.#clients.map((client) => client.add('few')));
      inARow = added.every(({ status }) => status === 201) ? inARow + 1 : 0;
      return inARow === connectionsServed / 10;
    }, recoveryMs);
    const settled = this.begin('settled');
    await sleep(15_000);
    const replies = (await Promise.all(settled.map((one) => one.stop()))).flat();
    return replies.filter(({ status }) => status === 503).length / replies.length;
  }

  count(name: string, replies: readonly Reply[]): void {
    const wrong = replies.find(({ status }) => ![200, 201, 404, 503].includes(status));
    if (wrong !== undefined) throw new Error(`${name}: ${wrong.status} ${wrong.text}`);
    const refused = replies.filter(({ status }) => status === 503);
    if (refused.some(({ headers }) => !(Number(headers.get('retry-after')) >= 1))) {
      throw new Error(`${name}: a 503 without Retry-After`);
    }
    this.tally.refused += refused.length;
    for (const { status, text, tookMs } of replies) {
      if (status === 201) this.tally.acknowledged.push((JSON.parse(text) as { name: string }).name);
      this.tally.slowestAnswerMs = Math.max(this.tally.slowestAnswerMs, tookMs);
    }
  }

  async lost(): Promise<number> {
    const there = new Set(await allNames(this.#clients[0] as Client));
    return this.tally.acknowledged.filter((name) => !there.has(name)).length;
  }

  linesLogged(): number {
    return this.#cluster.instances.flatMap(({ stderr }) => stderr().trimEnd().split('\n')).length;
  }
}

async function proveRefusals({ rounds, seed, progress }: StressOptions): Promise<Figures> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  made.defer(() => void Bun.spawnSync(['umount', '-l', join(folder.path, 'disk')], { stderr: 'ignore' }));
  let database: ShopDatabase | undefined;
  const makeDatabase = async (postgres: Cluster['postgres']) => {
    database = await ShopDatabase.make(postgres);
    return database.url;
  };
  const environment = { POSTGRES_POOL_SIZE: String(poolSize) };
  const cluster = await startCluster({ instances, environment, makeDatabase });
  if (cluster === undefined || database === undefined)
    throw new Error('This machine has no PostgreSQL and Redis.');
  made.use(cluster);
  const disk = await smallDisk(database, folder.path);
  const refusals: Record<string, Refusal> = {
    ...database.refusals(),
    ...(disk && { 'its disk is full': disk }),
  };
  const names = Object.keys(refusals);
  const drill = new Drill(cluster, (await cluster.issueKey()).key);
  const lengths = fc.sample(fc.integer({ min: 50, max: 3_000 }), { numRuns: rounds, seed: seed | 0 });
  for (const [round, ms] of lengths.entries()) {
    const name = names[round % names.length] as string;
    const refusal = refusals[name] as Refusal;
    const loads = drill.begin(`${round} ${name}`);
    await sleep(200);
    const since = drill.logLengths();
    await refusal.begin();
    await until(() => drill.areAll('degraded', refusal.reason, since), recoveryMs);
    await sleep(ms);
    await refusal.end();
    await drill.recovered();
    for (const one of loads) drill.count(name, await one.stop());
    progress(`${round + 1} refusals`);
  }
  await database.allowConnections(allowedConnections);
  const share = await drill.refusedWhenSettled();
  await database.allowConnections(-1);
  await drill.recovered();
  const lost = await drill.lost();
  if (lost > 0) throw new Error(`${lost} acknowledged animals are lost.`);
  const { acknowledged, refused, slowestRecoveryMs, slowestAnswerMs } = drill.tally;
  return {
    'disk filled': disk === undefined ? 'by a trigger' : 'really',
    acknowledged: acknowledged.length,
    lost,
    'answered 500': 0,
    'answered 503': refused,
    'lines in the logs': drill.linesLogged(),
    'slowest answer in ms': Math.round(slowestAnswerMs),
    'slowest recovery in ms': Math.round(slowestRecoveryMs),
    [`answered 503 with ${allowedConnections} of ${instances * poolSize} connections`]: `${(100 * share).toFixed(2)} %`,
  };
}

export const clusterRefusals: StressTest = {
  name: 'cluster-refusals',
  promise:
    'PostgreSQL refuses in each way: no 500, nothing acknowledged is lost, /readyz says why, and it recovers by itself',
  rounds: 40,
  run: proveRefusals,
};
