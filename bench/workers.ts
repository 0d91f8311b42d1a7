/** Measures the speedup with additional workers (`WORKERS`) on an embedded store, and the memory use of each worker. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JoinedLoad, joinLoads, loads, share, warmUpSeconds, writePlans } from './joined-load.ts';
import { applyLoad, connections, planPath } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import { animalCount, type Options } from './options.ts';
import { listDescendants, readMemoryMb } from './processes.ts';
import type { ServerProcess } from './server-process.ts';
import { createAddressing, embeddedStore, fill, issueKeys, startService } from './service.ts';
import { limitCpuShare } from './share.ts';
import { progress } from './terminal.ts';

const workerCounts = [1, 2, 4];

/** A load on a service with this number of workers. */
export interface WorkersSample extends JoinedLoad {
  readonly scenario: string;
  readonly workers: number;
  readonly round: number;
  /** Memory of all processes of the service after the load, without mapped files. */
  readonly memoryMb: number;
}

export interface WorkersResults extends Conditions {
  /** Number of connections to each worker. */
  readonly connections: number;
  readonly share: number;
  readonly samples: readonly WorkersSample[];
}

interface Service {
  readonly workers: number;
  readonly server: ServerProcess;
  readonly plans: string;
}

export async function measureWorkers(options: Options, folder: string): Promise<WorkersResults> {
  const { rounds, seconds, careful } = options;
  await using servers = new AsyncDisposableStack();
  const services: Service[] = [];
  for (const workers of workerCounts) services.push(await start(workers, options, folder, servers));

  const samples: WorkersSample[] = [];
  if (careful) {
    progress('warming up');
    for (const load of loads) for (const service of services) await run(service, load, warmUpSeconds);
  }
  for (let round = 1; round <= rounds; round++) {
    for (const load of loads) {
      for (const service of services) {
        const figures = await run(service, load, seconds);
        samples.push({ scenario: load, workers: service.workers, round, ...figures });
        const rate = Math.round(figures.requestsPerSecond).toLocaleString('en');
        progress(`round ${round} of ${rounds}  ${load.padEnd(6)} ${service.workers} workers  ${rate}/s`);
      }
    }
  }
  return {
    ...readConditions(options, folder),
    connections,
    share,
    samples,
  };
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
  return { workers, server, plans };
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
  { workers, server, plans }: Service,
  load: string,
  seconds: number,
): Promise<JoinedLoad & Pick<WorkersSample, 'memoryMb'>> {
  const before = server.usage().cpuSeconds;
  // The operating system distributes the connections among the workers.
  const generators = Array.from({ length: workers }, () =>
    applyLoad(server.url, planPath(plans, load), seconds),
  );
  const results = await Promise.all(generators);
  const joined = joinLoads(results, server.usage().cpuSeconds - before);
  return { ...joined, memoryMb: readMemoryMb(server.pid) };
}
