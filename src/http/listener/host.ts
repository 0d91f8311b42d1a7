import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { createServer, type ListenOptions } from 'node:net';
import type { Logger } from 'pino';

/**
 * Returns the address of a host, and logs a warning if it has several, because a service listens on one socket. IPv4 has
 * priority, since `localhost` is an IPv6 address only on some systems. Throws if the address does not belong to this
 * machine. Call this before listening, because the runtime may report "in use" for an address that does not exist
 * (oven-sh/bun#37690).
 */
export async function resolveHost(
  host: string,
  { log, setting = 'HOST', resolve = lookup }: HostOptions,
): Promise<string> {
  const found = await resolve(host, { all: true, order: 'ipv4first' }).catch((cause) => {
    throw new Error(
      `Cannot listen on ${host}: the name cannot be resolved. Set ${setting} to an address of this machine, such as 0.0.0.0 or ::.`,
      { cause },
    );
  });
  try {
    const [first, ...others] = found;
    const address = first?.address ?? host;
    await using _probe = await listen({ host: address, port: 0 });
    if (others.length > 0) {
      const unused = others.map((other) => other.address);
      log.warn(
        { [setting]: host, address, unused },
        `listening on one of several addresses; to listen on all addresses, set ${setting} to ::`,
      );
    }
    return address;
  } catch {
    throw new Error(
      `Cannot listen on ${host}: this machine has no such address. Set ${setting} to one of its addresses.`,
    );
  }
}

interface HostOptions {
  readonly log: Logger;
  readonly setting?: string;
  readonly resolve?: (host: string, options: LookupAllOptions) => Promise<readonly LookupAddress[]>;
}

/** URL at which programs on the same machine reach a listening service, without a trailing slash. */
export function localUrl(host: string, port: number): string {
  // Clients cannot connect to the wildcard address.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Reserves a port for processes that will share it, until the result is disposed. Any process of the same user can join
 * a shared port, so a second service would receive some of the first service's requests. This function therefore checks
 * that the port is free, and binds an abstract Unix socket to keep other services from taking the port. Like ports,
 * abstract sockets belong to the network namespace, and are released however the process ends. Linux only. If the
 * port is not available, throws an error with the system's `code`. Does nothing for port 0, which means any free port.
 */
export async function reservePort(host: string, port: number): Promise<AsyncDisposable> {
  await using taken = new AsyncDisposableStack();
  if (port !== 0) {
    taken.use(await listen({ path: `\0animal-store:${host}:${port}` }));
    await expectFreePort(host, port);
  }
  return taken.move();
}

/** Throws an error with the system's `code` if a process cannot listen on the port. */
export async function expectFreePort(host: string, port: number): Promise<void> {
  await using _free = await listen({ host, port, exclusive: true });
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
