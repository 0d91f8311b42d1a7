/** Loads on several processes at once, each held to a part of a core. */
import type { Addressing } from './contender.ts';
import { type LoadResult, planPath, writePlan } from './load.ts';
import { animalCount } from './options.ts';
import { scenarios } from './scenarios.ts';

/** Each process gets this part of the core that all of them are on; the other core is the load generators'. */
export const share = 0.25;

export const loads: readonly string[] = ['list', 'pet', 'mixed'];

/** Held to a share, the runtime takes this long to compile what is run often. */
export const warmUpSeconds = 8;

export interface JoinedLoad {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  readonly p99Ms: number;
  /** Refused, or not answered. */
  readonly wrong: number;
}

/** Writes the plan of each load. One caller makes all requests, so that all processes count in the same place. */
export async function writePlans(folder: string, addressing: Addressing, seconds: number): Promise<void> {
  for (const { name, plan } of scenarios.filter(({ name }) => loads.includes(name))) {
    await writePlan(
      planPath(folder, name),
      (await plan({ addressing, animals: animalCount, seconds })) ?? [],
    );
  }
}

/** What several load generators did at once, and what the servers needed for it. */
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
