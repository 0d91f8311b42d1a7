import { lookup } from 'node:dns/promises';
import { createServer, type ListenOptions } from 'node:net';

/** Throws when the address is none of this machine's. Asked first: the runtime may report "in use" for an address that is not there (oven-sh/bun#37690). */
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

/** The address of a service that listens there, without a trailing slash, as programs on the same machine reach it. */
export function listeningAddress(host: string, port: number): string {
  // All addresses of the machine are none that a client could connect to.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Takes a port for processes that will share it, until it is disposed of. The system lets any process of the same user
 * share a port that is shared at all, so a second service would get part of the first one's requests. Hence two checks:
 * the port is free now, and no other service of ours takes it from now on, recognized by a name in the system's abstract
 * namespace, which is of this network as ports are, and free again however the process ends. Linux only. Throws an
 * error with the system's `code`, as listening there would. Port 0 is any free port, which needs no reservation.
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
