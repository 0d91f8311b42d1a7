/**
 * Measures and reports reads with a concurrent writer on a slow disk. strace delays only system calls that make data
 * durable. One client posts animals one after the other while other clients read.
 */
import { post } from './contender.ts';
import { atLeast, atMost, type Goal } from './goals.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Measurable, Sample } from './measure.ts';
import { animalCount, type Options } from './options.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { type Case, runRounds } from './rounds.ts';
import { type Beside, newPet, type Scenario, scenarios, titleOf } from './scenarios.ts';
import { callersOn, createAddressing, embeddedStore, fill, issueKeys, startService } from './service.ts';
import { median } from './statistics.ts';
import { rates, ratio, samplesOf } from './summary.ts';
import { progress } from './terminal.ts';

/**
 * A simulated disk. `delayMs` is the delay of each sync. If it is 0, strace traces the service without delaying it. If
 * it is undefined, strace is not used.
 */
interface Disk {
  readonly name: string;
  readonly delayMs: number | undefined;
}

const disks: readonly Disk[] = [
  { name: 'this disk', delayMs: undefined },
  { name: 'this disk, traced', delayMs: 0 },
  { name: '2 ms per sync', delayMs: 2 },
  { name: '10 ms per sync', delayMs: 10 },
];

/**
 * Clients that run during the reads. Rejected writes never wait for the disk, so they show the cost of the second
 * client itself.
 */
const backgroundLoads = {
  alone: 'alone',
  writer: 'with a concurrent writer',
  refused: 'with concurrent rejected writes',
} as const;

export const reads = ['list', 'pet'] as const;

const readers = 16;

interface DiskResults extends Conditions {
  readonly connections: number;
  readonly animals: number;
  readonly disks: readonly Disk[];
  readonly samples: readonly Sample[];
}

/** Returns the name under which the samples of a read are reported. */
function caseName(read: string, beside: string): string {
  return `${read} ${beside}`;
}

export async function measureDisk(options: Options, folder: string): Promise<DiskResults> {
  assertTracing();
  await using servers = new AsyncDisposableStack();
  const cases: Case[] = [];
  for (const disk of disks) {
    progress(`starting the service on ${disk.name}`);
    const running = await startOn(disk, folder, servers);
    cases.push(...casesOf(disk).map((scenario) => ({ scenario, running })));
  }
  const samples = await runRounds(options, folder, animalCount, cases);
  return {
    ...readConditions(options, folder),
    connections: readers,
    animals: animalCount,
    disks,
    samples,
  };
}

function assertTracing(): void {
  const works =
    Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;
  if (!works) throw new Error('--disk requires strace and the permission to trace programs.');
}

async function startOn(
  { name, delayMs }: Disk,
  folder: string,
  servers: AsyncDisposableStack,
): Promise<Measurable> {
  const store = embeddedStore(folder, name.replaceAll(/\W/g, '-'));
  await fill(store, animalCount);
  const [key = ''] = await issueKeys(store, 1);
  const under = delayMs === undefined ? [] : slowDisk(delayMs);
  const server = servers.use(await startService(store, key, { under }));
  return { contender: { name }, server, addressing: { ...createAddressing(key), callers: callersOn(store) } };
}

/** Returns a command prefix that delays every sync of a program. Other system calls are not intercepted. */
function slowDisk(delayMs: number): string[] {
  const syncs = 'fdatasync,fsync,msync,sync_file_range';
  return [
    // With -D, the tracer is a grandchild process, so the program keeps its process id and receives signals.
    ...['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-o', '/dev/null'],
    ...['-e', `trace=${syncs}`, '-e', `inject=${syncs}:delay_enter=${delayMs * 1_000}`],
  ];
}

function casesOf({ delayMs = 0 }: Disk): Scenario[] {
  return scenarios
    .filter(({ name }) => reads.some((read) => read === name))
    .flatMap((read) => {
      const named = (beside: keyof typeof backgroundLoads) => ({
        ...read,
        name: caseName(read.name, backgroundLoads[beside]),
        pressure: { connections: readers },
      });
      return [
        named('alone'),
        { ...named('writer'), beside: writer },
        { ...named('refused'), beside: refusedWriter(delayMs) },
      ];
    });
}

/** Posts one animal after the other. */
const writer: Beside = {
  pressure: { connections: 1 },
  plan: ({ addressing: { create } }) =>
    Array.from({ length: 1_000 }, (_, index) => post(create, newPet(index))),
};

/** Posts an invalid body, which is rejected with 400. Pauses between requests, to simulate disk latency. */
function refusedWriter(pauseMs: number): Beside {
  return {
    pressure: { connections: 1, pauseMs },
    plan: ({ addressing: { create } }) => [post(create, '{"name":"Ozzy"}')],
  };
}

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
