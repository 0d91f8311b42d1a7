/** Limits processes to a fraction of a core, so that instances, databases and load generators fit on few cores. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = '/sys/fs/cgroup';
/** Period of the limit. A short period keeps the pauses of a limited process short. */
const periodMicroseconds = 10_000;
const endSteps = 100;
const endStepMs = 10;

/**
 * Limits the total CPU time of several processes to a fraction of one core with a control group (cgroups(7), controller
 * `cpu`, version 1 or 2). Stop the processes before disposing of the result: disposal waits up to a second for them to
 * end. Throws an `Error` if the control group cannot be created.
 */
export function limitCpuShare(pids: readonly number[], part: number): AsyncDisposable {
  const isVersion2 = existsSync(join(root, 'cgroup.controllers'));
  const folder = join(root, isVersion2 ? '' : 'cpu', `animal-store-bench-${pids[0]}`);
  const quota = Math.round(periodMicroseconds * part);
  try {
    if (isVersion2) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu');
    mkdirSync(folder);
    if (isVersion2) writeFileSync(join(folder, 'cpu.max'), `${quota} ${periodMicroseconds}`);
    else {
      writeFileSync(join(folder, 'cpu.cfs_period_us'), String(periodMicroseconds));
      writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quota));
    }
    for (const pid of pids) writeFileSync(join(folder, 'cgroup.procs'), String(pid));
  } catch (error) {
    throw new Error(
      `Instances cannot be limited to a fraction of a core: ${(error as Error).message}. ` +
        'Run this on Linux as root, with the cpu controller of control groups mounted.',
    );
  }
  return { [Symbol.asyncDispose]: () => removeGroup(folder) };
}

/** Removes a control group, which is possible after its last process has ended. */
async function removeGroup(folder: string): Promise<void> {
  for (let step = 0; step < endSteps && readFileSync(join(folder, 'cgroup.procs'), 'utf8') !== ''; step++)
    await sleep(endStepMs);
  rmdirSync(folder);
}
