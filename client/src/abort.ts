/** Callbacks to run when a signal aborts, keyed by signal. */
const callbacksBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs a function when the signal aborts, unless the returned function is called first. A signal gets a single listener
 * regardless of the number of calls, because Node.js reports more than ten listeners as a possible leak.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = callbacksBySignal.get(signal) ?? listenedTo(signal);
  // Wraps the function so that it can be registered twice.
  const callback = () => run();
  known.add(callback);
  return () => known.delete(callback);
}

function listenedTo(signal: AbortSignal): Set<() => void> {
  const known = new Set<() => void>();
  callbacksBySignal.set(signal, known);
  const abort = () => {
    for (const callback of [...known]) callback();
  };
  signal.addEventListener('abort', abort, { once: true });
  return known;
}
