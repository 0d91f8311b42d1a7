import { readFileSync } from 'node:fs';

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Signals within this time count as one, because npm forwards Ctrl-C, and systemd signals npm and its
 * children.
 */
const repeatedSignalMs = 1_000;

/** Leaves signals to the parent process, because terminals and supervisors signal all processes. */
export function ignoreInterruption(): void {
  for (const name of endings) process.on(name, () => {});
}

/** Ignores the signals by which other programs reopen logs (nginx: SIGUSR1) or reload: by default they end a process. */
export function ignoreUserSignals(): void {
  for (const name of ['SIGUSR1', 'SIGUSR2'] as const) process.on(name, () => {});
}

const parentCheckMs = 500;

export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** The first signal ends a command cleanly. A later one, after `repeatedSignalMs`, ends the process immediately. */
export function interruption(): Interruption {
  const controller = new AbortController();
  const caught = endings.filter((name) => name !== 'SIGHUP' || !ignoresHangup());
  const release = () => {
    for (const name of caught) process.off(name, stop);
  };
  const stop = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    setTimeout(release, repeatedSignalMs).unref();
  };
  for (const name of caught) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: release };
}

/** Whether the process was started to outlive its terminal (nohup): then SIGHUP stays ignored. Known on Linux only. */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    // Signal number 1 is the lowest bit.
    return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
}

/** Resolves on a signal or, if a parent is watched, when it ends. */
export async function ended(signal: AbortSignal, parent: number | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => {
    if (process.ppid !== parent) resolve();
  };
  const timer = parent === undefined ? undefined : setInterval(check, parentCheckMs);
  signal.addEventListener('abort', () => resolve());
  if (!signal.aborted) await promise;
  clearInterval(timer);
}
