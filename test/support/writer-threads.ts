/**
 * Threads that write to embedded stores are reused after their store is closed, because loading all units of work takes
 * longer than most tests. bunfig.toml preloads this module.
 */
const SystemWorker = globalThis.Worker;
const free: Worker[] = [];

/** A thread of `src/app/writer-thread.ts`. The store terminates it only once the thread has closed the data file. */
function writerThread(options?: WorkerOptions): Partial<Worker> {
  const thread = free.pop() ?? new SystemWorker(new URL('./writer-thread.ts', import.meta.url), options);
  const listening = new AbortController();
  thread.ref();
  return {
    addEventListener: (type: string, listener: (event: Event) => void) =>
      thread.addEventListener(type, listener, { signal: listening.signal }),
    postMessage: (message: unknown) => thread.postMessage(message),
    unref: () => thread.unref(),
    terminate: () => {
      listening.abort();
      thread.unref();
      free.push(thread);
    },
  };
}

globalThis.Worker = new Proxy(SystemWorker, {
  construct: (_target, [module, options]: [URL | string, WorkerOptions?]) =>
    `${module}`.endsWith('/src/app/writer-thread.ts')
      ? writerThread(options)
      : new SystemWorker(module, options),
});
