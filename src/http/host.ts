import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';

/** The address to listen on is none of this machine's; the message says what to do. */
export class HostUnusable extends Error {
  constructor(host: string) {
    super(`Cannot listen on ${host}: this machine has no such address. Set HOST to one of its addresses.`);
  }
}

/**
 * Throws `HostUnusable` unless some port of the address can be listened on. Asked beforehand, for afterwards the
 * runtime's error code may say "in use" of an address that is not there (oven-sh/bun#37690).
 */
export async function checkHost(host: string): Promise<void> {
  try {
    await lookup(host);
    await listenOnAnyPort(host);
  } catch {
    throw new HostUnusable(host);
  }
}

function listenOnAnyPort(host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const probe = createServer();
  probe.once('error', reject);
  probe.listen({ host, port: 0 }, () => probe.close(() => resolve()));
  return promise;
}
