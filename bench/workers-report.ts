/** Report on the speedup with additional workers and their memory use, in Markdown. */
import type { Goal } from './goals.ts';
import { goalRows, machineSentence, table } from './report.ts';
import { scenarios } from './scenarios.ts';
import { median } from './statistics.ts';
import type { WorkersResults, WorkersSample } from './workers.ts';

const minGain = 1.8;
const maxMemoryMb = 40;

export function workersMarkdown(results: WorkersResults): string {
  const { measuredAt, machine, rounds, seconds, connections, share, samples } = results;
  return [
    `Measured ${measuredAt.slice(0, 10)}: each worker limited to ${share * 100} % of one core (the first ` +
      `shares its limit with the supervisor), ${connections} connections per worker, ${rounds} interleaved rounds of ${seconds} s, ` +
      `medians. ${machineSentence(machine)}`,
    goalRows(goalsOf(samples), true),
    table(
      ['', 'workers', 'requests/s', 'vs. one worker', 'CPU µs/request', 'p99 ms', 'memory MB', 'errors'],
      [...Map.groupBy(samples, ({ scenario }) => scenario)].flatMap(([scenario, own]) =>
        rowsOf(own, scenario),
      ),
    ),
  ].join('\n\n');
}

function goalsOf(samples: readonly WorkersSample[]): Goal[] {
  const gain = (load: string) =>
    gainOf(
      samples.filter(({ scenario }) => scenario === load),
      2,
    );
  const memory = (workers: number) =>
    Math.max(...samples.filter((sample) => sample.workers === workers).map(({ memoryMb }) => memoryMb));
  const counts = [...new Set(samples.map(({ workers }) => workers))];
  return [
    ...['list', 'mixed'].map((load) => ({
      text: `${titleOf(load)}: two workers vs. one`,
      wanted: `≥ ${minGain.toFixed(2)} ×`,
      measured: `${gain(load).toFixed(2)} ×`,
      met: gain(load) >= minGain,
    })),
    ...counts.slice(1).map((workers): Goal => {
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
}

function rowsOf(own: readonly WorkersSample[], scenario: string): string[][] {
  return [...Map.groupBy(own, ({ workers }) => workers)].map(([workers, those]) => [
    titleOf(scenario),
    String(workers),
    Math.round(median(those.map(({ requestsPerSecond }) => requestsPerSecond))).toLocaleString('en'),
    `${gainOf(own, workers).toFixed(2)} ×`,
    median(those.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)).toFixed(1),
    median(those.map(({ p99Ms }) => p99Ms)).toFixed(1),
    Math.max(...those.map(({ memoryMb }) => memoryMb)).toFixed(0),
    String(those.reduce((sum, { wrong }) => sum + wrong, 0)),
  ]);
}

/** Returns the rate with this number of workers relative to one worker, computed within each round. */
function gainOf(samples: readonly WorkersSample[], workers: number): number {
  const rates = (count: number) =>
    new Map(
      samples
        .filter((sample) => sample.workers === count)
        .map(({ round, requestsPerSecond }) => [round, requestsPerSecond]),
    );
  const ones = rates(1);
  return median([...rates(workers)].map(([round, rate]) => rate / (ones.get(round) ?? Number.NaN)));
}

function titleOf(load: string): string {
  return scenarios.find(({ name }) => name === load)?.title ?? load;
}
