/** Resolves in the next tick of the event loop, so that requests are answered between parts of a long task. */
export const eventLoopTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
