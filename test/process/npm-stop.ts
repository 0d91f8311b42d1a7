import { temporaryFolder } from '../support/folder.ts';
import { startService } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';

/**
 * Two ways in which one stop request reaches the service twice. A terminal signals every process of the group, and a
 * supervisor signals every process that it started. In both cases, npm also forwards its signal.
 */
export const doubledStops = {
  'Ctrl-C to the process group of npm start': ({ npm }) => process.kill(-npm, 'SIGINT'),
  'SIGTERM to npm and the service together': ({ npm, service }) => {
    process.kill(npm, 'SIGTERM');
    process.kill(service, 'SIGTERM');
  },
} as const satisfies Record<string, (pids: { npm: number; service: number }) => void>;

export type DoubledStop = keyof typeof doubledStops;

/**
 * On a busy machine, npm may forward the signal more than a second later, and the service treats it as a second signal.
 * If this happens with every other stop, it happens 40 times in a row once in 10^12 runs.
 */
const mostTries = 40;

/** Starts the service with `npm start` and stops it in this way. Throws unless it drains, exits cleanly and is gone. */
export async function stopNpm(how: DoubledStop): Promise<void> {
  let log = '';
  for (let tries = 0; tries < mostTries; tries++) {
    log = await logOfStop(how);
    if (/"msg":"stopping"[\s\S]*"msg":"stopped"/.test(log)) return;
  }
  throw new Error(`${how}: the service did not stop in good order:\n${log}`);
}

async function logOfStop(how: DoubledStop): Promise<string> {
  await using folder = await temporaryFolder();
  // A separate process group, like that of a command in a terminal.
  await using npm = await startService(folder.path, {}, ['setsid', 'npm', 'start']);
  using _group = { [Symbol.dispose]: () => killGroup(npm.pid) };
  const [service] = childrenOf(npm.pid);
  if (service === undefined) throw new Error('npm has no child.');
  doubledStops[how]({ npm: npm.pid, service });
  await npm.exited;
  if (isRunning(service)) throw new Error('npm has ended and the service still runs.');
  return npm.stderr();
}

/** Kills processes that a failed test left behind. */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // No process is left, as expected.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
