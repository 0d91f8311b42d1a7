/** Slots of each node of a Redis Cluster, as reported by the nodes. */
import { RedisClient } from 'bun';

/** Returns the address ("host:port") of the node that owns a slot; undefined if no node owns it. */
export type SlotMap = (slot: number) => string | undefined;

/** First slot, last slot, primary, and replicas. */
type Range = readonly [number, number, readonly [host: unknown, port: number], ...unknown[]];

/** Reads the reply to `CLUSTER SLOTS` from the node at this URL. Throws if no node owns any slots. */
export function parseSlotMap(reply: unknown, url: string): SlotMap {
  const ranges = reply as readonly Range[];
  if (!Array.isArray(reply) || reply.length === 0) throw new Error('no node of the cluster owns any slots');
  return (slot) => {
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    return range === undefined ? undefined : formatAddress(String(range[2][0] ?? ''), range[2][1], url);
  };
}

/** Formats an address. If a node does not know its own host, uses the host of the URL that was queried. */
export function formatAddress(host: string, port: number | string, askedUrl: string): string {
  if (host === '' || host === '?') return `${new URL(askedUrl).hostname}:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the URL of another node, using the encryption and credentials of `url`. */
export function nodeUrl(address: string, url: string): string {
  const [scheme, credentials = ''] = url.match(/^(\w+:\/\/)([^@/]*@)?/)?.slice(1) ?? [];
  return `${scheme}${credentials}${address}`;
}

export async function readSlotMap(url: string, timeoutMs: number): Promise<SlotMap> {
  const client = new RedisClient(url, {
    autoReconnect: false,
    enableOfflineQueue: false,
    connectionTimeout: timeoutMs,
  });
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  try {
    const reading = client.connect().then(() => client.send('CLUSTER', ['SLOTS']));
    return parseSlotMap(await Promise.race([reading, isLate]), url);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}
