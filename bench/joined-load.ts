/** Concurrent loads on several processes, each limited to a fraction of a core. */
import type { Addressing } from './contender.ts';
import { type LoadResult, planPath, writePlan } from './load.ts';
import { animalCount } from './options.ts';
import { scenarios } from './scenarios.ts';

/** CPU limit of each process, as a fraction of a core. All processes use one core, and the load generators another. */
export const share = 0.25;

export const loads: readonly string[] = ['list', 'pet', 'mixed'];

/** Long enough for the runtime to compile hot code at this CPU limit. */
export const warmUpSeconds = 8;

export interface JoinedLoad {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  readonly p99Ms: number;
  /** Number of requests with an error or without a response. */
  readonly wrong: number;
}

/** Writes the plan for each load. All requests use the same key, so that all processes update the same counter. */
export async function writePlans(folder: string, addressing: Addressing, seconds: number): Promise<void> {
  for (const { name, plan } of scenarios.filter(({ name }) => loads.includes(name))) {
    await writePlan(
      planPath(folder, name),
      (await plan({ addressing, animals: animalCount, seconds })) ?? [],
    );
  }
}

/** Combines the results of several load generators with the CPU time of the servers. */
export function joinLoads(results: readonly LoadResult[], cpuSeconds: number): JoinedLoad {
  const requests = results.reduce((sum, result) => sum + result.requests, 0);
  return {
    requests,
    requestsPerSecond: results.reduce((sum, result) => sum + result.requests / result.seconds, 0),
    cpuMicrosecondsPerRequest: (cpuSeconds * 1_000_000) / requests,
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
    wrong: results.reduce((sum, { refused, broken }) => sum + refused + broken, 0),
  };
}
