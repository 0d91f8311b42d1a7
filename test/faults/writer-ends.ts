/** Preloaded into the service. At SIGUSR2, the writer thread ends as `WRITER_ENDS` specifies, which no request can cause. */
const ends: Readonly<Record<string, (thread: Worker) => void>> = {
  'it throws': (thread) => thread.postMessage({ notCalls: true }),
  'it is gone': (thread) => thread.terminate(),
};

globalThis.Worker = class extends Worker {
  constructor(...given: ConstructorParameters<typeof Worker>) {
    super(...given);
    process.on('SIGUSR2', () => ends[process.env.WRITER_ENDS ?? '']?.(this));
  }
};
