/** Hash slots of Redis Cluster, and the hash tags of the shards. */

const slotCount = 16_384;

/**
 * Number of shards of the accounts on Redis Cluster. It bounds the nodes that share the work, and every announcement is
 * made to each shard. 24 can be divided evenly by 2, 3, 4, 6, 8, 12 and 24 nodes. Another number would move accounts:
 * instances with different numbers count separately.
 */
const shardCount = 24;

/** CRC16 (XMODEM) of the text. */
export function hashOf(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}

/** The slot of a key: that of the text in its first braces, if there are any. */
export function slotOf(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  return hashOf(tag) % slotCount;
}

/** A hash tag for each shard. Each has its slot in another 24th of the slots, which nodes have in ranges. */
export function shardTags(): string[] {
  const tags = new Map<number, string>();
  for (let number = 0; tags.size < shardCount; number++) {
    const part = Math.floor((slotOf(`${number}`) * shardCount) / slotCount);
    if (!tags.has(part)) tags.set(part, `${number}`);
  }
  return Array.from({ length: shardCount }, (_, part) => tags.get(part) ?? '');
}
