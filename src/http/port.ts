import { createServer, type ListenOptions } from 'node:net';

/**
 * Takes a port for processes that will share it, until it is disposed of. The system lets any process of the same user
 * share a port that is shared at all, so a second service would get part of the first one's requests. Hence two checks:
 * the port is free now, and no other service of ours takes it from now on, told by a name in the system's abstract
 * namespace, which is of this network as ports are, and free again however the process ends. Linux only. Throws an
 * error with the system's `code`, as listening there would. Port 0 is any, which nobody can have.
 */
export async function reservePort(host: string, port: number): Promise<AsyncDisposable> {
  await using taken = new AsyncDisposableStack();
  if (port !== 0) {
    taken.use(await listen({ path: `\0animal-store:${host}:${port}` }));
    await using _free = await listen({ host, port, exclusive: true });
  }
  return taken.move();
}

async function listen(options: ListenOptions): Promise<AsyncDisposable> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((socket) => socket.destroy());
  server.once('error', reject);
  server.listen(options, resolve);
  await promise;
  server.unref();
  return {
    [Symbol.asyncDispose]: () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      return closed.promise;
    },
  };
}
