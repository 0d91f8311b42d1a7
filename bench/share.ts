/** Holds processes to a part of a core, so that several of them, a database and a load generator fit on few cores. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = '/sys/fs/cgroup';
/** Short, so that a held process pauses often and briefly. */
const periodMicroseconds = 10_000;

/**
 * Holds processes together to this part of one core, by a control group of their own (cgroups(7), controller `cpu`,
 * version 1 or 2). Dispose it after they have ended. Throws an `Error` where control groups cannot be made.
 */
export function holdToShare(pids: readonly number[], part: number): Disposable {
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
      `Instances cannot be held to a part of a core: ${(error as Error).message}. ` +
        'Run this on Linux as root, with the cpu controller of control groups mounted.',
    );
  }
  return { [Symbol.dispose]: () => rmdirSync(folder) };
}
