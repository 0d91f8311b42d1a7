/** Resource usage of a server and its child processes, from proc(5). */
import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly cpuSeconds: number;
  readonly peakMemoryMb: number;
}

const ticksPerSecond = 100;

/** Returns the usage of a process and its child processes (`utime` and `stime` in `stat`, `VmHWM` in `status`). */
export function readUsage(pid: number): Usage {
  const processes = [pid, ...listDescendants(pid)];
  return {
    cpuSeconds: sum(processes.map(cpuSecondsOf)),
    peakMemoryMb: sum(processes.map((each) => numberIn(`/proc/${each}/status`, 'VmHWM'))) / 1_024,
  };
}

/** Returns the CPU time of the strace process that traces a process; 0 if the process is not traced. */
export function readTracerCpuSeconds(pid: number): number {
  const tracer = numberIn(`/proc/${pid}/status`, 'TracerPid');
  return tracer > 0 ? cpuSecondsOf(tracer) : 0;
}

/**
 * Returns the memory of a process and its child processes: the proportional set size (`smaps_rollup`) without mapped
 * files, which may be shared with other programs on the same runtime.
 */
export function readMemoryMb(pid: number): number {
  const own = (each: number) => {
    const path = `/proc/${each}/smaps_rollup`;
    return numberIn(path, 'Pss_Anon') + numberIn(path, 'Pss_Shmem');
  };
  return sum([pid, ...listDescendants(pid)].map(own)) / 1_024;
}

/** Returns all descendants of a process. */
export function listDescendants(pid: number): number[] {
  const parents = new Map(processes().map((each) => [each, parentOf(each)]));
  const descendants: number[] = [];
  for (const [each] of parents) {
    for (let ancestor = parents.get(each); ancestor !== undefined; ancestor = parents.get(ancestor)) {
      if (ancestor === pid) descendants.push(each);
    }
  }
  return descendants;
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Returns the id of the parent process; undefined if the process has ended. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(statFields(pid)[1]);
  } catch {
    return undefined;
  }
}

function cpuSecondsOf(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Returns the fields of `stat` after the second field, the process name, which may contain spaces. */
function statFields(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
}

/** Reads a number from a file with lines such as `VmHWM:  1024 kB`. */
function numberIn(path: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(path, 'utf8'))?.[1]);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
