/**
 * Detects other programs on the machine, which distort results. Runs begin when both cores are idle. Each run records
 * the fraction of a core that other programs used.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { measuredCores } from './machine.ts';

interface CoreTimes {
  readonly busySeconds: number;
  readonly allSeconds: number;
}

/** Maximum fraction of a core that other programs may use. Runs that exceed this fraction are repeated. */
export const maxForeignShare = 0.1;

const restStepMs = 200;

/** Reads the busy and idle time of the cores since boot (proc(5), `stat`). Steal time counts as busy. */
function coreTimes(): CoreTimes[] {
  const lines = readFileSync('/proc/stat', 'utf8').split('\n');
  return measuredCores.map((core) => {
    const line = lines.find((line) => line.startsWith(`cpu${core} `)) ?? '';
    // user, nice, system, idle, iowait, irq, softirq, steal
    const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = line
      .split(/\s+/)
      .slice(1)
      .map((ticks) => Number(ticks) / 100);
    const busySeconds = user + nice + system + irq + softirq + steal;
    return { busySeconds, allSeconds: busySeconds + idle + iowait };
  });
}

/**
 * Starts measuring. Call the returned function with the CPU seconds that the benchmark has since used on each core. It
 * returns the fraction of the busier core used by other programs.
 */
export function watchOthers(): (ownSeconds: readonly number[]) => number {
  const before = coreTimes();
  return (ownSeconds) => {
    const parts = coreTimes().map(({ busySeconds, allSeconds }, index) => {
      const { busySeconds: busyBefore, allSeconds: allBefore } = before[index] as CoreTimes;
      const foreign = busySeconds - busyBefore - (ownSeconds[index] ?? 0);
      return foreign / Math.max(allSeconds - allBefore, 0.01);
    });
    return Math.max(0, ...parts);
  };
}

/** Waits until both cores are idle, or until the timeout. */
export async function waitUntilQuiet(timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const others = watchOthers();
    await sleep(restStepMs);
    if (others([]) <= maxForeignShare) return;
  }
}
