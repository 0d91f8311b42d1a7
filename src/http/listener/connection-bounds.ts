/** The maximum and current number of a listener's connections, which the runtime does not provide. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

export interface ConnectionBound {
  readonly maxConnections: number;
  readonly open: () => number;
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
  return { maxConnections: most, open: openDescriptors };
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
  return { maxConnections: most, open };
}

/**
 * Number of connections to a local port; `Infinity` without a free descriptor to count them, and 0 on a system without
 * proc(5). A system without IPv6 has no tcp6 file.
 */
function connectionsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  // The second column is the local address; state 01 is an open connection.
  const open = new RegExp(`^ *\\d+: [0-9A-F]+:${hex} [0-9A-F]+:[0-9A-F]{4} 01 `, 'gm');
  const count = (path: string) => {
    try {
      return readFileSync(path, 'latin1').match(open)?.length ?? 0;
    } catch (error) {
      return isOutOfDescriptors(error) ? Number.POSITIVE_INFINITY : 0;
    }
  };
  return count('/proc/self/net/tcp') + count('/proc/self/net/tcp6');
}

// Every connection needs a file descriptor. Without free descriptors, the listener accepts no connections.

/** Descriptor limit assumed on systems without `/proc`. macOS allows at least this many descriptors (OPEN_MAX). */
const assumedLimit = 10_240;

/** The last limit that could be read. Reading it needs a free descriptor. */
let knownLimit = assumedLimit;

export function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    if (soft !== undefined) knownLimit = Number(soft);
  } catch {
    // The last known limit.
  }
  return knownLimit;
}

export function isOutOfDescriptors(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

/**
 * Number of open descriptors; `Infinity` if all are in use, so that they cannot be listed; 0 if listing is not
 * supported.
 */
export function openDescriptors(): number {
  try {
    // Since Linux 6.2, the size of this directory is the number of descriptors, so the directory need not be opened.
    const { size } = process.platform === 'linux' ? statSync('/proc/self/fd') : { size: 0 };
    return size > 0 ? size : readdirSync('/dev/fd').length;
  } catch (error) {
    return isOutOfDescriptors(error) ? Number.POSITIVE_INFINITY : 0;
  }
}
