/**
 * Calls `work` at every multiple of an interval of the process's monotonic clock, with the time at which the call was
 * due, until the result is disposed of. Unlike the timers of `setInterval`, which drift apart, such timers wake an idle
 * process together. They do not keep it running. An interval that varies is given as a function.
 */
export function runAtMultiples(everyMs: number | (() => number), work: (dueAt: number) => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const wait = () => {
    if (isEnded) return;
    const now = performance.now();
    const ms = untilTick(typeof everyMs === 'number' ? everyMs : everyMs(), now);
    timer = setTimeout(() => {
      try {
        work(now + ms);
      } finally {
        wait();
      }
    }, ms).unref();
  };
  wait();
  return {
    [Symbol.dispose]: () => {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}

/** Milliseconds until the next multiple of the interval. A timer may run early, so a multiple that is very near is skipped. */
function untilTick(everyMs: number, now: number): number {
  const rest = everyMs - (now % everyMs);
  return Math.ceil(rest < everyMs / 4 ? rest + everyMs : rest);
}
