/** Report on reads with a concurrent writer, in Markdown. */
import { backgroundLoads, caseName, type Disk, type DiskResults, reads } from './disk.ts';
import { atLeast, atMost, type Goal } from './goals.ts';
import type { Sample } from './measure.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { titleOf } from './scenarios.ts';
import { median } from './statistics.ts';
import { rates, ratio, samplesOf } from './summary.ts';

/** Minimum ratio of the read rate with a concurrent writer to the read rate without one. */
const minRate = 0.9;
/** Maximum ratio of the read p99 with a concurrent writer to the read p99 without one. */
const maxP99 = 1.5;

const p99 = (sample: Sample) => sample.p99Ms;

export function diskMarkdown(results: DiskResults): string {
  const { samples, disks, animals } = results;
  return [
    `${describeConditions(results)} Every store contains ${animals.toLocaleString('en')} animals. strace delays each sync by the ` +
      'time in the table. There are four Free accounts for each Pro account.',
    goalsTable(
      disks
        .filter(({ delayMs }) => delayMs !== undefined && delayMs > 0)
        .flatMap((disk) => goalsOf(samples, disk)),
      samples,
    ),
    ...reads.flatMap((read) => [`### ${titleOf(read)}`, readTable(samples, disks, read)]),
    '### Cost of tracing and the disk: reads/s relative to this disk without tracing',
    disksTable(samples, disks),
  ].join('\n\n');
}

function goalsOf(samples: readonly Sample[], { name }: Disk): Goal[] {
  return reads.flatMap((read) => {
    const rate = againstAlone(samples, name, read, backgroundLoads.writer, rates.throughput);
    const latency = againstAlone(samples, name, read, backgroundLoads.writer, p99);
    return [
      atLeast(minRate, `${titleOf(read)}: throughput with a concurrent writer, ${name}`, rate),
      atMost(maxP99, `${titleOf(read)}: p99 with a concurrent writer, ${name}`, latency),
    ];
  });
}

/** Compares reads with the same reads without a writer, on the same disk. */
function againstAlone(
  samples: readonly Sample[],
  contender: string,
  read: string,
  beside: string,
  figure: (sample: Sample) => number,
): number {
  const side = (scenario: string) => ({ scenario, contender });
  return ratio(samples, figure, side(caseName(read, beside)), side(caseName(read, backgroundLoads.alone)));
}

function readTable(samples: readonly Sample[], disks: readonly Disk[], read: string): string {
  const rows = disks.flatMap(({ name }) =>
    Object.values(backgroundLoads).map((beside) => {
      const own = samplesOf(samples, { contender: name, scenario: caseName(read, beside) });
      const of = (field: (sample: Sample) => number) => median(own.map(field));
      const isAlone = beside === backgroundLoads.alone;
      const times = (figure: (sample: Sample) => number) =>
        isAlone ? '' : `${againstAlone(samples, name, read, beside, figure).toFixed(2)} ×`;
      const written = ({ beside: other }: Sample) =>
        other === undefined
          ? Number.NaN
          : (beside === backgroundLoads.writer ? other.requests - other.refused : other.refused) /
            other.seconds;
      return [
        name,
        beside,
        Math.round(of(rates.throughput)).toLocaleString('en'),
        times(rates.throughput),
        of(p99).toFixed(2),
        times(p99),
        isAlone ? '' : Math.round(of(written)).toLocaleString('en'),
        isAlone ? '' : of((sample) => sample.beside?.p99Ms ?? Number.NaN).toFixed(1),
        String(own.reduce((sum, { wrong }) => sum + wrong, 0)),
      ];
    }),
  );
  return table(
    ['', '', 'reads/s', 'vs. alone', 'p99 ms', 'vs. alone', 'writes/s', 'write p99 ms', 'errors'],
    rows,
  );
}

/** Compares the other disks with the first one. */
function disksTable(samples: readonly Sample[], [plain, ...others]: readonly Disk[]): string {
  const rows = reads.flatMap((read) =>
    Object.values(backgroundLoads).map((beside) => {
      const side = ({ name }: Disk) => ({ scenario: caseName(read, beside), contender: name });
      const times = (disk: Disk) =>
        plain === undefined ? Number.NaN : ratio(samples, rates.throughput, side(disk), side(plain));
      return [titleOf(read), beside, ...others.map((disk) => `${times(disk).toFixed(2)} ×`)];
    }),
  );
  return table(['', '', ...others.map(({ name }) => name)], rows);
}
