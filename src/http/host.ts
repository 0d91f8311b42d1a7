import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';

/** The address to listen on is none of this machine's; the message says what to do. */
export class HostUnusable extends Error {
  constructor(host: string, setting: string) {
    super(
      `Cannot listen on ${host}: this machine has no such address. Set ${setting} to one of its addresses.`,
    );
  }
}

/**
 * Throws `HostUnusable` unless some port of the address can be listened on. Asked beforehand, for afterwards the
 * runtime's error code may say "in use" of an address that is not there (oven-sh/bun#37690).
 */
export async function checkHost(host: string, setting = 'HOST'): Promise<void> {
  try {
    await lookup(host);
    await listenOnAnyPort(host);
  } catch {
    throw new HostUnusable(host, setting);
  }
}

function listenOnAnyPort(host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const probe = createServer();
  probe.once('error', reject);
  probe.listen({ host, port: 0 }, () => probe.close(() => resolve()));
  return promise;
}

/** The address of a service that listens there, without a trailing slash, as programs on the same machine reach it. */
export function listeningAddress(host: string, port: number): string {
  // All addresses of the machine are none that a client could connect to.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
