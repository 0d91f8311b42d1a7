import { temporaryFolder } from '../support/folder.ts';
import { startService } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';

/**
 * Two ways in which a single stop request can reach the service twice. A terminal signals every process in a group, and
 * a supervisor signals every process that it started. In both cases, npm forwards the signal as well.
 */
export const doubledStops = {
  'Ctrl-C to the process group of npm start': ({ npm }) => process.kill(-npm, 'SIGINT'),
  'SIGTERM to both npm and the service': ({ npm, service }) => {
    process.kill(npm, 'SIGTERM');
    process.kill(service, 'SIGTERM');
  },
} as const satisfies Record<string, (pids: { npm: number; service: number }) => void>;

export type DoubledStop = keyof typeof doubledStops;

/**
 * On a busy machine, npm may forward the signal more than a second later, so that the service treats it as a second
 * signal. Even if this happened half of the time, all 40 tries would fail only once in 10^12 runs.
 */
const mostTries = 40;

/** Starts the service with `npm start` and stops it in this way. Throws unless the service drains and exits cleanly. */
export async function stopNpm(how: DoubledStop): Promise<void> {
  let log = '';
  for (let tries = 0; tries < mostTries; tries++) {
    log = await logOfStop(how);
    if (/"msg":"stopping"[\s\S]*"msg":"stopped"/.test(log)) return;
  }
  throw new Error(`${how}: the service did not stop cleanly:\n${log}`);
}

async function logOfStop(how: DoubledStop): Promise<string> {
  await using folder = await temporaryFolder();
  // Runs in a separate process group, like a command in a terminal.
  await using npm = await startService(folder.path, {}, ['setsid', 'npm', 'start']);
  using _group = { [Symbol.dispose]: () => killGroup(npm.pid) };
  const [service] = childrenOf(npm.pid);
  if (service === undefined) throw new Error('npm has no child.');
  doubledStops[how]({ npm: npm.pid, service });
  await npm.exited;
  if (isRunning(service)) throw new Error('npm has exited, but the service is still running.');
  return npm.stderr();
}

/** Kills processes that a failed test left behind. */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // ESRCH means that no process is left, as expected.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
