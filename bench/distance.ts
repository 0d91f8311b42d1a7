/**
 * Measures and reports how network latency to PostgreSQL and Redis slows down writes, and how much additional instances
 * help.
 */
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openAdminServices } from '../src/app/app.ts';
import { readConfig } from '../src/config.ts';
import { type ClusterStore, forgetLimits } from './cluster.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Options } from './options.ts';
import { machineSentence, table } from './report.ts';
import type { ServerProcess } from './server-process.ts';
import { fill, issueKeys, makeAnimalsOrderable, startService } from './service.ts';
import { median } from './statistics.ts';
import { progress } from './terminal.ts';

const delaysMs = [0, 2, 10];
const instanceCounts = [1, 3];
/** Number of concurrent requests to each instance. */
export const clients = 48;
const animals = 60_000;
/** Maximum number of animals ordered in a run. Each animal is ordered once. */
const maxOrders = 20_000;
const proxy = fileURLToPath(new URL('./distance-proxy.ts', import.meta.url));

export const writes = ['POST /pets', 'PATCH /pets/{petId}', 'POST /orders'] as const;
type Write = (typeof writes)[number];

interface DistanceSample {
  readonly write: Write;
  readonly delayMs: number;
  readonly instances: number;
  readonly round: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Number of responses other than 2xx. */
  readonly wrong: number;
}

interface DistanceResults extends Conditions {
  readonly clients: number;
  readonly samples: readonly DistanceSample[];
}

export async function measureDistance(options: Options, folder: string): Promise<DistanceResults> {
  const { cluster, rounds } = options;
  if (cluster === undefined) throw new Error('--distance requires --postgres and --redis.');
  await using store = new AsyncDisposableStack();
  store.defer(() => forgetLimits(cluster));
  progress(`adding ${animals.toLocaleString('en')} animals`);
  await fill(cluster, animals);
  const [key = ''] = await issueKeys(cluster, 1);
  const samples: DistanceSample[] = [];
  for (const delayMs of delaysMs) {
    await using servers = new AsyncDisposableStack();
    const far = await delayed(cluster, delayMs, servers);
    const instances: ServerProcess[] = [];
    while (instances.length < Math.max(...instanceCounts)) {
      instances.push(servers.use(await startService(far, key)));
    }
    for (let round = 1; round <= rounds; round++) {
      for (const write of writes) {
        for (const count of instanceCounts) {
          const run = { write, delayMs, instances: count, round };
          const figures = await measure(
            instances.slice(0, count),
            await callsOf(write, cluster, round),
            key,
            options,
          );
          samples.push({ ...run, ...figures });
          const rate = Math.round(figures.requestsPerSecond);
          progress(`round ${round} of ${rounds}  ${delayMs} ms  ${write}  ${count} instances  ${rate}/s`);
        }
      }
    }
  }
  const conditions = readConditions(options, folder);
  const machine = { ...conditions.machine, loadGenerator: 'node:http' } as const;
  return { ...conditions, machine, clients, samples };
}

async function delayed(
  store: ClusterStore,
  delayMs: number,
  servers: AsyncDisposableStack,
): Promise<ClusterStore> {
  const command = [process.execPath, proxy, String(delayMs), store.DATABASE_URL, store.REDIS_URL];
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' });
  servers.defer(() => child.kill());
  const { value } = await child.stdout.getReader().read();
  const [DATABASE_URL, REDIS_URL] = JSON.parse(new TextDecoder().decode(value)) as [string, string];
  return { ...store, DATABASE_URL, REDIS_URL };
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Returns a function that takes an index and returns that call, or undefined after the last call. */
async function callsOf(
  write: Write,
  store: ClusterStore,
  round: number,
): Promise<(number: number) => Call | undefined> {
  if (write === 'POST /pets') {
    const body = { name: 'Rex', categoryId: 1, status: 'available' };
    return () => ({ method: 'POST', path: '/v1/pets', body });
  }
  if (write === 'PATCH /pets/{petId}') {
    return (number) => ({
      method: 'PATCH',
      path: `/v1/pets/${(number % animals) + 1}`,
      body: { name: `renamed ${round} ${number}` },
    });
  }
  await using admin = await openAdminServices(readConfig(store));
  const ids = await makeAnimalsOrderable(admin, maxOrders);
  return (number) => {
    const petId = ids[number];
    return petId === undefined
      ? undefined
      : { method: 'POST', path: '/v1/orders', body: { petId: Number(petId) } };
  };
}

async function measure(
  instances: readonly ServerProcess[],
  callOf: (number: number) => Call | undefined,
  key: string,
  { seconds }: Options,
): Promise<Pick<DistanceSample, 'requestsPerSecond' | 'p50Ms' | 'p99Ms' | 'wrong'>> {
  const agent = new Agent({ keepAlive: true });
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  const times: number[] = [];
  let [number, wrong] = [0, 0];
  const client = async (url: string) => {
    for (let startedAt = performance.now(); startedAt < until; startedAt = performance.now()) {
      const call = callOf(number++);
      if (call === undefined) return;
      const status = await send(agent, url, key, call);
      if (status < 300) times.push(performance.now() - startedAt);
      else wrong++;
    }
  };
  await Promise.all(instances.flatMap(({ url }) => Array.from({ length: clients }, () => client(url))));
  agent.destroy();
  const tookSeconds = (performance.now() - begun) / 1_000;
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return { requestsPerSecond: times.length / tookSeconds, p50Ms: at(0.5), p99Ms: at(0.99), wrong };
}

function send(agent: Agent, url: string, key: string, { method, path, body }: Call): Promise<number> {
  const text = JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { agent, method, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end(text);
  });
}

export function formatLatencyReport({
  measuredAt,
  machine,
  rounds,
  seconds,
  clients,
  samples,
}: DistanceResults): string {
  return [
    `Measured ${measuredAt.slice(0, 10)}: ${clients} requests in flight per instance, ${rounds} interleaved rounds of ` +
      `${seconds} s, medians, with all instances on one core. ${machineSentence(machine)}`,
    table(
      ['', 'added ms', 'instances', 'requests/s', 'vs. one instance', 'p50 ms', 'p99 ms', 'errors'],
      writes.flatMap((write) => rowsOf(samples.filter((sample) => sample.write === write))),
    ),
  ].join('\n\n');
}

function rowsOf(samples: readonly DistanceSample[]): string[][] {
  const runs = Map.groupBy(samples, ({ delayMs, instances }) => `${delayMs} ${instances}`);
  return [...runs.values()].map((those) => {
    const [{ write, delayMs, instances }] = those as [DistanceSample];
    const of = (value: (sample: DistanceSample) => number) => median(those.map(value));
    const alone = samples.filter((each) => each.delayMs === delayMs && each.instances === 1);
    const rate = of(({ requestsPerSecond }) => requestsPerSecond);
    return [
      write,
      String(delayMs),
      String(instances),
      Math.round(rate).toLocaleString('en'),
      `${(rate / median(alone.map(({ requestsPerSecond }) => requestsPerSecond))).toFixed(2)} ×`,
      of(({ p50Ms }) => p50Ms).toFixed(1),
      of(({ p99Ms }) => p99Ms).toFixed(1),
      String(those.reduce((sum, { wrong }) => sum + wrong, 0)),
    ];
  });
}
