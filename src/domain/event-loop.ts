/** Resolves in the next tick of the event loop, so that requests are served between the parts of a long task. */
export const eventLoopTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
