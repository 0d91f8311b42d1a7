/** Callbacks to run when a signal aborts, keyed by signal. */
const endings = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs a function when the signal aborts, unless the returned function is called first. A signal gets a single listener
 * regardless of the number of calls, because Node.js reports more than ten listeners as a possible leak.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = endings.get(signal) ?? listenedTo(signal);
  // Wraps the function so that it can be registered twice.
  const ending = () => run();
  known.add(ending);
  return () => known.delete(ending);
}

function listenedTo(signal: AbortSignal): Set<() => void> {
  const known = new Set<() => void>();
  endings.set(signal, known);
  const abort = () => {
    for (const ending of [...known]) ending();
  };
  signal.addEventListener('abort', abort, { once: true });
  return known;
}
