/** Measures the speedup with additional workers (`WORKERS`) on an embedded store, and the memory use of each worker. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Goal } from './goals.ts';
import { applyLoad, planPath } from './load.ts';
import { animalCount, type Options } from './options.ts';
import { listDescendants, readMemoryMb } from './processes.ts';
import type { ServerProcess } from './server-process.ts';
import { createAddressing, embeddedStore, fill, issueKeys, startService } from './service.ts';
import { limitCpuShare } from './share.ts';
import {
  formatSpeedup,
  gainGoal,
  type JoinedLoad,
  joinLoads,
  measureSpeedup,
  share,
  writePlans,
} from './speedup.ts';
import { progress } from './terminal.ts';

const workerCounts = [1, 2, 4];

const minGain = 1.8;
const maxMemoryMb = 40;

interface WorkersLoad extends JoinedLoad {
  /** Memory of all processes of the service after the load, without mapped files. */
  readonly memoryMb: number;
}

interface Service {
  readonly server: ServerProcess;
  readonly plans: string;
}

export async function measureWorkers(options: Options, folder: string) {
  await using servers = new AsyncDisposableStack();
  const services = new Map<number, Service>();
  for (const workers of workerCounts) services.set(workers, await start(workers, options, folder, servers));
  const counts = { counts: workerCounts, warmUp: options.careful ? workerCounts : [] };
  return await measureSpeedup(options, folder, counts, (workers, load, seconds) =>
    run(workers, services.get(workers) as Service, load, seconds),
  );
}

/** Starts a service on a separate store, with each worker limited to a fraction of a core. */
async function start(
  workers: number,
  { seconds }: Options,
  folder: string,
  servers: AsyncDisposableStack,
): Promise<Service> {
  progress(`starting the service with WORKERS=${workers}`);
  const store = embeddedStore(folder, `workers-${workers}`);
  await fill(store, animalCount);
  const [key = ''] = await issueKeys(store, 1);
  const plans = join(folder, `plans-${workers}`);
  mkdirSync(plans);
  await writePlans(plans, createAddressing(key), seconds);
  const server = await startService(store, key, { settings: { WORKERS: String(workers) } });
  try {
    // Disposed in reverse order: first the processes, then their control groups.
    for (const pids of sharesOf(server.pid, workers)) servers.use(limitCpuShare(pids, share));
  } finally {
    servers.use(server);
  }
  return { server, plans };
}

/** Groups the processes that share a limit. The supervisor, which applies all writes, is in the first group. */
function sharesOf(pid: number, workers: number): number[][] {
  if (workers === 1) return [[pid, ...listDescendants(pid)]];
  const [first, ...others] = listDescendants(pid);
  const found = first === undefined ? 0 : 1 + others.length;
  if (first === undefined || found !== workers) {
    throw new Error(
      `The service was started with WORKERS=${workers}, and /proc shows ${found} processes under it.`,
    );
  }
  return [[pid, first], ...others.map((other) => [other])];
}

async function run(
  workers: number,
  { server, plans }: Service,
  load: string,
  seconds: number,
): Promise<WorkersLoad> {
  const before = server.usage().cpuSeconds;
  // The operating system distributes the connections among the workers.
  const generators = Array.from({ length: workers }, () =>
    applyLoad(server.url, planPath(plans, load), seconds),
  );
  const results = await Promise.all(generators);
  const joined = joinLoads(results, server.usage().cpuSeconds - before);
  return { ...joined, memoryMb: readMemoryMb(server.pid) };
}

export function workersMarkdown(results: Awaited<ReturnType<typeof measureWorkers>>): string {
  const { samples } = results;
  const peakMb = (some: readonly WorkersLoad[]) => Math.max(...some.map(({ memoryMb }) => memoryMb));
  const memory = (workers: number) =>
    peakMb(samples.filter(({ contender }) => contender === String(workers)));
  const goals = [
    ...['list', 'mixed'].map((load) => gainGoal(samples, load, 'worker', minGain)),
    ...workerCounts.slice(1).map((workers): Goal => {
      const each = (memory(workers) - memory(1)) / (workers - 1);
      return {
        text: `Memory per additional worker (${workers} workers in total)`,
        wanted: `≤ ${maxMemoryMb} MB`,
        measured: `${each.toFixed(0)} MB`,
        met: each <= maxMemoryMb,
        steady: true,
      };
    }),
  ];
  return formatSpeedup(results, {
    unit: 'worker',
    goals,
    column: ['memory MB', (those) => peakMb(those).toFixed(0)],
  });
}
