/** How many connections a listener may have, and how many there are. The runtime tells neither. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

export interface ConnectionBound {
  readonly most: number;
  readonly open: () => number;
}

/** Connections of all processes beyond which the default bound does not go, whatever the system allows. */
const mostByDefault = 10_000;
/** Share of the free descriptors that connections get by default; the rest is for the store and for those on their way out. */
const shareByDefault = 0.75;
/** Bounds of connections to the admin listener: a number, a share of the free descriptors, and a minimum. */
export const mostOfOperators = 256;
const shareOfOperators = 0.1;
const leastOfOperators = 16;
const countedForMs = 500;

/** Bounds the connections to the public port by the descriptors of this process, whatever they are used for. */
export function boundOfClients(maxConnections: number, processes: number): ConnectionBound {
  const others = openDescriptors();
  // Descriptors are of each process, the other bounds of all of them.
  const free = Math.floor((descriptorLimit() - others) * shareByDefault);
  const part = Math.floor((maxConnections || mostByDefault) / processes);
  const most = others + Math.max(1, maxConnections === 0 ? Math.min(part, free) : part);
  return { most, open: openDescriptors };
}

/** Bounds the connections to the port of operators, so that they leave descriptors to clients. */
export function boundOfOperators(port: number): ConnectionBound {
  const others = openDescriptors();
  const share = Math.floor((descriptorLimit() - others) * shareOfOperators);
  const most = Math.min(mostOfOperators, Math.max(leastOfOperators, share));
  let counted = { at: Number.NEGATIVE_INFINITY, open: 0 };
  const open = () => {
    // Nearly always few descriptors are open, and the system need not be asked whose they are.
    if (openDescriptors() - others < most) return 0;
    const now = performance.now();
    if (now - counted.at > countedForMs) counted = { at: now, open: connectionsTo(port) };
    return counted.open;
  };
  return { most, open };
}

/** Connections to a port of this machine; 0 where the system does not tell as Linux does. One without IPv6 has no tcp6. */
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

// Every connection takes a file descriptor; without free ones, the listener accepts none.

/** What a system without `/proc` is taken to allow; macOS gives at least this (OPEN_MAX). */
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

/** How many are open; infinite when there are none left to look with, 0 on a system that does not tell. */
export function openDescriptors(): number {
  try {
    // Linux tells the number as the size of the folder, since 6.2, without opening anything.
    const { size } = process.platform === 'linux' ? statSync('/proc/self/fd') : { size: 0 };
    return size > 0 ? size : readdirSync('/dev/fd').length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? Number.POSITIVE_INFINITY : 0;
  }
}
