/** The maximum number of connections of a listener, and the current number. The runtime provides neither. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

export interface ConnectionBound {
  readonly maxConnections: number;
  readonly open: () => number;
}

/** Maximum default number of connections of all processes, even if the system allows more. */
const defaultMaxConnections = 10_000;
/**
 * Share of the free descriptors that connections get by default. The rest is for the store and for outgoing
 * connections.
 */
const shareByDefault = 0.75;
/** Bounds of connections to the admin listener: a number, a share of the free descriptors, and a minimum. */
export const maxAdminConnections = 256;
const shareOfOperators = 0.1;
const minAdminConnections = 16;
const countedForMs = 500;

/**
 * Limits connections to the public port by the descriptors of this process, including descriptors used for other
 * purposes.
 */
export function boundOfClients(maxConnections: number, processes: number): ConnectionBound {
  const others = openDescriptors();
  // Each process has its own descriptors. The other limits apply to all processes together.
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
    // Usually few descriptors are open, and the connections need not be counted.
    if (openDescriptors() - others < most) return 0;
    const now = performance.now();
    if (now - counted.at > countedForMs) counted = { at: now, open: connectionsTo(port) };
    return counted.open;
  };
  return { maxConnections: most, open };
}

/** Number of connections to a local port; 0 without Linux' proc(5). A system without IPv6 has no tcp6. */
function connectionsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  // The second column is the local address; state 01 is an open connection.
  const open = new RegExp(`^ *\\d+: [0-9A-F]+:${hex} [0-9A-F]+:[0-9A-F]{4} 01 `, 'gm');
  const count = (path: string) => {
    try {
      return readFileSync(path, 'latin1').match(open)?.length ?? 0;
    } catch {
      return 0;
    }
  };
  return count('/proc/self/net/tcp') + count('/proc/self/net/tcp6');
}

// Every connection needs a file descriptor. Without free ones, the listener accepts none.

/** Assumed limit of a system without `/proc`; macOS allows at least this (OPEN_MAX). */
const assumedLimit = 10_240;

export function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? assumedLimit : Number(soft);
  } catch {
    return assumedLimit;
  }
}

/**
 * Number of open descriptors. `Infinity` if no descriptor is left to read the folder, 0 on a system without proc(5).
 */
export function openDescriptors(): number {
  try {
    // Since Linux 6.2, the size of the folder is the number of descriptors, so the folder need not be opened.
    const { size } = process.platform === 'linux' ? statSync('/proc/self/fd') : { size: 0 };
    return size > 0 ? size : readdirSync('/dev/fd').length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? Number.POSITIVE_INFINITY : 0;
  }
}
