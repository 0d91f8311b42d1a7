/** How a person or a supervisor ends a command. */
const endings = ['SIGINT', 'SIGTERM'] as const;

export interface Interruption extends Disposable {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
}

/**
 * Lets the first SIGINT or SIGTERM end a command in good order. Only that one is caught: a second signal ends the
 * process at once, as the system does by itself.
 */
export function interruption(): Interruption {
  const controller = new AbortController();
  const ignore = () => {
    for (const name of endings) process.off(name, stop);
  };
  const stop = () => {
    ignore();
    controller.abort();
  };
  for (const name of endings) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: ignore };
}
