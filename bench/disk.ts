/**
 * Measures reads with a concurrent writer on a slow disk. strace delays only system calls that make data durable. One
 * client posts animals one after the other while other clients read.
 */
import { post } from './contender.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Measurable, Sample } from './measure.ts';
import { animalCount, type Options } from './options.ts';
import { type Case, runRounds } from './rounds.ts';
import { type Beside, newPet, type Scenario, scenarios } from './scenarios.ts';
import { callersOn, createAddressing, embeddedStore, fill, issueKeys, startService } from './service.ts';
import { progress } from './terminal.ts';

/**
 * A simulated disk. `delayMs` is the delay of each sync. If it is 0, strace traces the service without delaying it. If
 * it is undefined, strace is not used.
 */
export interface Disk {
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
export const backgroundLoads = {
  alone: 'alone',
  writer: 'with a concurrent writer',
  refused: 'with concurrent rejected writes',
} as const;

export const reads = ['list', 'pet'] as const;

const readers = 16;

export interface DiskResults extends Conditions {
  readonly connections: number;
  readonly animals: number;
  readonly disks: readonly Disk[];
  readonly samples: readonly Sample[];
}

/** Returns the name under which the samples of a read are reported. */
export function caseName(read: string, beside: string): string {
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
