/** Describes the benchmark's machine, and pins processes to its cores. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly bun: string;
  readonly node: string;
  readonly loadGenerator: 'wrk' | 'autocannon' | 'node:http';
  readonly pinned: boolean;
  /** Duration of a durable 4 KiB write to the disk that holds the stores. */
  readonly syncMicroseconds: number;
}

/** The server and the load generator use one core each. */
const coreOf = { server: 0, load: 1 } as const;

/** Cores whose CPU time is measured. Empty if processes cannot be pinned to cores. */
export const measuredCores: readonly number[] = canPin() ? [coreOf.server, coreOf.load] : [];

function canPin(): boolean {
  return Bun.which('taskset') !== null && availableParallelism() > 1;
}

/** Returns the command, pinned to the core for its role if the machine supports pinning. */
export function pinned(role: keyof typeof coreOf, command: readonly string[]): string[] {
  return canPin() ? ['taskset', '-c', String(coreOf[role]), ...command] : [...command];
}

/** Time, machine and length of a measurement. All result files begin with these fields. */
export interface Conditions {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly rounds: number;
  /** Length of one run. */
  readonly seconds: number;
}

export function readConditions(
  { rounds, seconds }: Pick<Conditions, 'rounds' | 'seconds'>,
  folder: string,
): Conditions {
  return { measuredAt: new Date().toISOString(), machine: describeMachine(folder), rounds, seconds };
}

function describeMachine(folder: string): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    bun: Bun.version,
    node: readVersion(['node', '--version']),
    loadGenerator: Bun.which('wrk') === null ? 'autocannon' : 'wrk',
    pinned: canPin(),
    syncMicroseconds: Math.round(syncMicroseconds(join(folder, 'sync'))),
  };
}

/** Runs a command, and returns the version number in its output. */
export function readVersion(command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command);
  return /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}

/** Returns the median duration of a hundred durable writes. */
function syncMicroseconds(path: string): number {
  const file = openSync(path, 'w');
  const page = Buffer.alloc(4_096);
  const times: number[] = [];
  for (let write = 0; write < 100; write++) {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    times.push((performance.now() - start) * 1_000);
  }
  closeSync(file);
  return times.sort((a, b) => a - b)[50] ?? 0;
}
