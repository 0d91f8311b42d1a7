import { readdirSync, readFileSync } from 'node:fs';

/** Ids of a process's running child processes. */
export function childrenOf(parent: number): number[] {
  return parents()
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => pid);
}

/** All processes and their parents. Read from /proc if available, because slim images lack `ps`. */
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

/** True if a process is running. A process that has exited but has not been reaped does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch (error) {
    // Without /proc, a process that accepts signals counts as running.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform !== 'linux';
  }
}

/** The process and its parent. Undefined if the process has exited. */
function parentOf(pid: number): [[pid: number, ppid: number]] | undefined {
  try {
    // The process name is in parentheses, and may itself contain spaces and parentheses. The state and the parent
    // follow the name.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [[pid, Number(ppid)]];
  } catch {
    return undefined;
  }
}

/** Command line of a running process, with arguments separated by spaces. Linux only. */
export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
}
