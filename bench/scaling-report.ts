/** Report on the speedup with additional instances, in Markdown. */
import type { Goal } from './goals.ts';
import { goalRows, machineSentence, table } from './report.ts';
import type { ScalingResults, ScalingSample } from './scaling.ts';
import { scenarios } from './scenarios.ts';
import { median } from './statistics.ts';

const minGain = 1.7;

export function scalingMarkdown(results: ScalingResults): string {
  const { measuredAt, machine, rounds, seconds, connections, share, samples } = results;
  const names = [...new Set(samples.map(({ scenario }) => scenario))];
  return [
    `Measured ${measuredAt.slice(0, 10)}: each instance limited to ${share * 100} % of one core, ${connections} connections ` +
      `per instance, ${rounds} interleaved rounds of ${seconds} s, medians. ${machineSentence(machine)}`,
    goalRows([goalOf(samples)], true),
    table(
      [
        ...['', 'instances', 'requests/s', 'vs. one instance'],
        ...['CPU µs/request', 'Redis CPU µs/request', 'p99 ms', 'errors'],
      ],
      names.flatMap((name) => rowsOf(samples, name)),
    ),
  ].join('\n\n');
}

function goalOf(samples: readonly ScalingSample[]): Goal {
  const gain = gainOf(samples, 'list', 2);
  return {
    text: 'List pages per second, two instances vs. one',
    wanted: `≥ ${minGain.toFixed(2)} ×`,
    measured: `${gain.toFixed(2)} ×`,
    met: gain >= minGain,
  };
}

function rowsOf(samples: readonly ScalingSample[], scenario: string): string[][] {
  const title = scenarios.find(({ name }) => name === scenario)?.title ?? scenario;
  const own = samples.filter((sample) => sample.scenario === scenario);
  return [...Map.groupBy(own, ({ instances }) => instances)].map(([instances, those]) => [
    title,
    String(instances),
    Math.round(median(those.map(({ requestsPerSecond }) => requestsPerSecond))).toLocaleString('en'),
    `${gainOf(samples, scenario, instances).toFixed(2)} ×`,
    median(those.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)).toFixed(1),
    median(those.map(({ redisMicrosecondsPerRequest }) => redisMicrosecondsPerRequest)).toFixed(1),
    median(those.map(({ p99Ms }) => p99Ms)).toFixed(1),
    String(those.reduce((sum, { wrong }) => sum + wrong, 0)),
  ]);
}

/** Returns the rate with this number of instances relative to one instance, computed within each round. */
function gainOf(samples: readonly ScalingSample[], scenario: string, instances: number): number {
  const rate = (round: number, count: number) =>
    samples.find((one) => one.scenario === scenario && one.round === round && one.instances === count)
      ?.requestsPerSecond ?? Number.NaN;
  const rounds = [...new Set(samples.map(({ round }) => round))];
  return median(rounds.map((round) => rate(round, instances) / rate(round, 1)));
}
