/** Measures and reports the speedup with additional workers or instances, each limited to a fraction of a core. */
import type { Addressing } from './contender.ts';
import { atLeast, type Goal } from './goals.ts';
import { connections, type LoadResult, planPath, writePlan } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import { animalCount, type Options } from './options.ts';
import { goalRows, machineSentence, table } from './report.ts';
import { scenarios, titleOf } from './scenarios.ts';
import { median } from './statistics.ts';
import { rates, ratio } from './summary.ts';
import { progress } from './terminal.ts';

/** CPU limit of each process, as a fraction of a core. All processes use one core, and the load generators another. */
export const share = 0.25;

const loads: readonly string[] = ['list', 'pet', 'mixed'];

/** Long enough for the runtime to compile hot code at this CPU limit. */
const warmUpSeconds = 8;

/** A concurrent load on several processes. */
export interface JoinedLoad {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  readonly p99Ms: number;
  /** Number of requests with an error or without a response. */
  readonly wrong: number;
}

/** `contender` is the number of workers or instances. */
export type SpeedupSample<Load extends JoinedLoad> = Load & {
  readonly scenario: string;
  readonly contender: string;
  readonly round: number;
};

interface SpeedupResults<Load extends JoinedLoad> extends Conditions {
  /** Number of connections to each worker or instance. */
  readonly connections: number;
  readonly share: number;
  readonly samples: readonly SpeedupSample<Load>[];
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

/** Runs each load on each number of workers or instances in each round, after a warm-up with some of the numbers. */
export async function measureSpeedup<Load extends JoinedLoad>(
  { rounds, seconds }: Options,
  folder: string,
  { counts, warmUp }: { readonly counts: readonly number[]; readonly warmUp: readonly number[] },
  run: (count: number, load: string, seconds: number) => Promise<Load>,
): Promise<SpeedupResults<Load>> {
  const samples: SpeedupSample<Load>[] = [];
  for (const load of loads) for (const count of warmUp) await run(count, load, warmUpSeconds);
  for (let round = 1; round <= rounds; round++) {
    for (const load of loads) {
      for (const count of counts) {
        const figures = await run(count, load, seconds);
        samples.push({ ...figures, scenario: load, contender: String(count), round });
        const rate = Math.round(figures.requestsPerSecond).toLocaleString('en');
        progress(`round ${round} of ${rounds}  ${load.padEnd(6)} ${count} at once  ${rate}/s`);
      }
    }
  }
  return { ...readConditions({ rounds, seconds }, folder), connections, share, samples };
}

interface Report<Load extends JoinedLoad> {
  readonly unit: 'worker' | 'instance';
  readonly goals: readonly Goal[];
  /** Title of an additional column, and its value for the samples of a load. */
  readonly column: readonly [title: string, value: (samples: readonly Load[]) => string];
}

export function formatSpeedup<Load extends JoinedLoad>(
  results: SpeedupResults<Load>,
  { unit, goals, column: [title, value] }: Report<Load>,
): string {
  const { measuredAt, machine, rounds, seconds, samples } = results;
  const runs = Map.groupBy(samples, ({ scenario, contender }) => `${scenario} ${contender}`);
  return [
    `Measured ${measuredAt.slice(0, 10)}: each ${unit} limited to ${results.share * 100} % of one core, ` +
      `${results.connections} connections per ${unit}, ${rounds} interleaved rounds of ${seconds} s, medians. ` +
      machineSentence(machine),
    goalRows(goals, true),
    table(
      ['', `${unit}s`, 'requests/s', `vs. one ${unit}`, 'CPU µs/request', 'p99 ms', title, 'errors'],
      [...runs.values()].map((those) => {
        const [{ scenario, contender }] = those as [SpeedupSample<Load>];
        return [
          titleOf(scenario),
          contender,
          Math.round(median(those.map(({ requestsPerSecond }) => requestsPerSecond))).toLocaleString('en'),
          `${gainOf(samples, scenario, contender).toFixed(2)} ×`,
          median(those.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)).toFixed(1),
          median(those.map(({ p99Ms }) => p99Ms)).toFixed(1),
          value(those),
          String(those.reduce((sum, { wrong }) => sum + wrong, 0)),
        ];
      }),
    ),
  ].join('\n\n');
}

/** Goal for the rate with two workers or instances relative to one. */
export function gainGoal(
  samples: readonly SpeedupSample<JoinedLoad>[],
  load: string,
  unit: Report<JoinedLoad>['unit'],
  min: number,
): Goal {
  return atLeast(min, `${titleOf(load)}: two ${unit}s vs. one`, gainOf(samples, load, '2'));
}

function gainOf(samples: readonly SpeedupSample<JoinedLoad>[], scenario: string, contender: string): number {
  return ratio(samples, rates.throughput, { scenario, contender }, { scenario, contender: '1' });
}
