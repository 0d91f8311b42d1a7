import { readFileSync } from 'node:fs';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Signals within this time count as one, because npm forwards Ctrl-C, and systemd signals both npm and its children.
 */
const repeatedSignalMs = 1_000;

/** Ignores stop signals. Terminals and supervisors send such signals to all processes, and the parent handles them. */
export function ignoreStopSignals(): void {
  for (const name of stopSignals) process.on(name, () => {});
}

/**
 * Ignores signals that other programs use to reopen logs or reload settings, such as SIGUSR1 in nginx. By default, such
 * signals would end the process.
 */
export function ignoreUserSignals(): void {
  for (const name of ['SIGUSR1', 'SIGUSR2'] as const) process.on(name, () => {});
}

const parentCheckMs = 500;

interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** The first signal ends a command cleanly. A second signal, after `repeatedSignalMs`, ends the process immediately. */
export function catchInterruption(): Interruption {
  const controller = new AbortController();
  const caught = stopSignals.filter((name) => name !== 'SIGHUP' || !ignoresHangup());
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

/** Whether the process was started with SIGHUP ignored (nohup). Detected only on Linux. */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    // SIGHUP is signal 1, the lowest bit.
    return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
}

/** Resolves on a signal, or when the watched parent exits. */
export async function waitForStop(signal: AbortSignal, parent: number | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => {
    if (process.ppid !== parent) resolve();
  };
  const timer = parent === undefined ? undefined : setInterval(check, parentCheckMs);
  signal.addEventListener('abort', () => resolve());
  if (!signal.aborted) await promise;
  clearInterval(timer);
}
