/**
 * Preloaded into the service. On SIGUSR2, ends the writer thread as `WRITER_ENDS` specifies, because no request can
 * end this thread.
 */
const ends: Readonly<Record<string, (thread: Worker) => void>> = {
  'it throws': (thread) => thread.postMessage({ notCalls: true }),
  'it is terminated': (thread) => thread.terminate(),
};

globalThis.Worker = class extends Worker {
  constructor(...given: ConstructorParameters<typeof Worker>) {
    super(...given);
    process.on('SIGUSR2', () => ends[process.env.WRITER_ENDS ?? '']?.(this));
  }
};
