/**
 * Loaded before the service: at SIGUSR2 its thread that writes ends as `WRITER_ENDS` says, which no request can bring
 * about.
 */
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
