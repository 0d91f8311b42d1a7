/** Report on the effect of network latency to the servers, in Markdown. */
import { type DistanceResults, type DistanceSample, writes } from './distance.ts';
import { machineSentence, table } from './report.ts';
import { median } from './statistics.ts';

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
