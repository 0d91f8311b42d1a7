/** Loads on several processes at once, each limited to a share of a core. */
import type { Addressing } from './contender.ts';
import { type LoadResult, planPath, writePlan } from './load.ts';
import { animalCount } from './options.ts';
import { scenarios } from './scenarios.ts';

/** Each process gets this share of one core that all of them use. The other core is for the load generators. */
export const share = 0.25;

export const loads: readonly string[] = ['list', 'pet', 'mixed'];

/** Time the runtime takes to compile hot code when it is limited to a share of a core. */
export const warmUpSeconds = 8;

export interface JoinedLoad {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  readonly p99Ms: number;
  /** Refused, or not answered. */
  readonly wrong: number;
}

/** Writes the plan of each load. One caller makes all requests, so that all processes update the same count. */
export async function writePlans(folder: string, addressing: Addressing, seconds: number): Promise<void> {
  for (const { name, plan } of scenarios.filter(({ name }) => loads.includes(name))) {
    await writePlan(
      planPath(folder, name),
      (await plan({ addressing, animals: animalCount, seconds })) ?? [],
    );
  }
}

/** Combined result of several load generators, with the processor time of the servers. */
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
