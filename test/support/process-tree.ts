import { readdirSync, readFileSync } from 'node:fs';

/** The running child processes of a process. */
export function childrenOf(parent: number): number[] {
  return parents()
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => pid);
}

/** All processes with their parents, from /proc if available, because slim images lack `ps`. */
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

/** True if a process is running. An ended process may remain until the init process reaps it. */
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

/** Undefined if it has ended. */
function parentOf(pid: number): [[pid: number, ppid: number]] | undefined {
  try {
    // The name in parentheses may contain spaces and parentheses. State and parent follow it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [[pid, Number(ppid)]];
  } catch {
    return undefined;
  }
}

/** Command line of a running process, its arguments separated by spaces. Linux only. */
export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
}
