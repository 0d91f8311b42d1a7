import { readdirSync, readFileSync } from 'node:fs';

/** The processes that a process started and that still run. */
export function childrenOf(parent: number): number[] {
  return parents()
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => pid);
}

/** Every process with its parent, from /proc where there is one, for slim images have no `ps`. */
function parents(): [pid: number, ppid: number][] {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => parentOf(Number(pid)) ?? []);
  } catch {
    const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=']);
    const rows = stdout.toString().trim().split('\n');
    return rows.map((row) => row.trim().split(/\s+/).map(Number) as [number, number]);
  }
}

/** Whether a process runs; one that has ended may wait long for the system's first process to notice it. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch (error) {
    // Without /proc, that it can be signalled has to do.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform !== 'linux';
  }
}

/** Undefined when it has ended meanwhile. */
function parentOf(pid: number): [[pid: number, ppid: number]] | undefined {
  try {
    // The name in parentheses may have spaces and parentheses itself; state and parent follow it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [[pid, Number(ppid)]];
  } catch {
    return undefined;
  }
}

/** The command line of a process that runs, its arguments separated by spaces; Linux only. */
export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
}
