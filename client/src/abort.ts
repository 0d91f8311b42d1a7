/** What ends with each signal. */
const endings = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs a function when the signal aborts, unless what is returned is called before. One signal may end any number of calls,
 * and Node.js warns of a leak where a signal has more than ten listeners, so each gets one.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = endings.get(signal) ?? listenedTo(signal);
  // A function of its own, so that two that are the same are two.
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
