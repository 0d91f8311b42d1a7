/** The maximum and current number of a listener's connections, which the runtime does not provide. */
import { readFileSync } from 'node:fs';
import { descriptorLimit, isOutOfDescriptors, openDescriptors } from './descriptors.ts';
import { connectionsOn } from './sockets.ts';

export interface ConnectionBound {
  readonly maxConnections: number;
  readonly open: () => number;
  /** Whether so few descriptors are left for this listener that even authenticated requests must be aborted. */
  readonly isExhausted: () => boolean;
}

/** Default maximum for all processes combined, even if the system allows more connections. */
const defaultMaxConnections = 10_000;
/**
 * Fraction of the free descriptors that connections may use by default. The rest is for the store and outgoing
 * connections.
 */
const shareByDefault = 0.75;
/** Limits for connections to the admin listener: a maximum, a fraction of the free descriptors, and a minimum. */
export const maxAdminConnections = 256;
const shareOfOperators = 0.1;
const minAdminConnections = 16;
const countedForMs = 500;
/** With fewer free descriptors, connections are closed without waiting for requests in flight. */
const fewLeft = 8;

/**
 * Limits connections to the public port. The limit applies to open descriptors, including those used for other
 * purposes.
 */
export function boundOfClients(maxConnections: number, processes: number): ConnectionBound {
  const others = openDescriptors();
  // The descriptor limit applies per process. The other limits apply to all processes combined.
  const free = Math.floor((descriptorLimit() - others) * shareByDefault);
  const part = Math.floor((maxConnections || defaultMaxConnections) / processes);
  const most = others + Math.max(1, maxConnections === 0 ? Math.min(part, free) : part);
  const isExhausted = () => openDescriptors() >= descriptorLimit() - fewLeft;
  return { maxConnections: most, open: openDescriptors, isExhausted };
}

/** Limits connections to the admin port, so that descriptors remain for clients. */
export function boundOfOperators(port: number): ConnectionBound {
  const others = openDescriptors();
  const share = Math.floor((descriptorLimit() - others) * shareOfOperators);
  const most = Math.min(maxAdminConnections, Math.max(minAdminConnections, share));
  let counted = { at: Number.NEGATIVE_INFINITY, open: 0 };
  const open = () => {
    // Usually, few descriptors are open, so the connections need not be counted.
    if (openDescriptors() - others < most) return 0;
    const now = performance.now();
    if (now - counted.at > countedForMs) counted = { at: now, open: connectionsTo(port) };
    return counted.open;
  };
  // If clients use all descriptors, closing the few connections of operators does not help.
  return { maxConnections: most, open, isExhausted: () => false };
}

/** Number of connections to a local port; 0 on a system without proc(5). A system without IPv6 has no tcp6 file. */
function connectionsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  // The second column is the local address; state 01 is an open connection.
  const open = new RegExp(`^ *\\d+: [0-9A-F]+:${hex} [0-9A-F]+:[0-9A-F]{4} 01 `, 'gm');
  const count = (path: string) => {
    try {
      return readFileSync(path, 'latin1').match(open)?.length ?? 0;
    } catch (error) {
      // The files cannot be opened.
      if (isOutOfDescriptors(error)) throw error;
      return 0;
    }
  };
  try {
    return count('/proc/self/net/tcp') + count('/proc/self/net/tcp6');
  } catch {
    return connectionsOn(port).length;
  }
}
