import { lookup } from 'node:dns/promises';
import { createServer, type ListenOptions } from 'node:net';

/**
 * Throws if the address does not belong to this machine. Call it before listening, because the runtime may report "in use" for an
 * address that does not exist (oven-sh/bun#37690).
 */
export async function checkHost(host: string, setting = 'HOST'): Promise<void> {
  try {
    await lookup(host);
    await using _probe = await listen({ host, port: 0 });
  } catch {
    throw new Error(
      `Cannot listen on ${host}: this machine has no such address. Set ${setting} to one of its addresses.`,
    );
  }
}

/** Address of a listening service for programs on the same machine, without a trailing slash. */
export function listeningAddress(host: string, port: number): string {
  // Clients cannot connect to the wildcard address.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Reserves a port for processes that will share it, until it is disposed of. The system lets any process of the same
 * user share a shared port, so a second service would get part of the requests of the first one. So there are two
 * checks: the port is free now, and no other service takes it from now on. The second one uses a name in the system's
 * abstract namespace, which belongs to the network namespace, as ports do, and is released when the process ends in any
 * way. Linux only. Throws an error with the system's `code`, as listening would. Port 0 is any free port, which needs
 * no reservation.
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
