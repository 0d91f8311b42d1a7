/** Hash slots of Redis Cluster, and the hash tags of the shards. */

const slotCount = 16_384;

/**
 * Number of shards on Redis Cluster. With more shards, more nodes could share the work, but every announcement is sent
 * to every shard. 24 shards can be divided evenly among 2, 3, 4, 6, 8, 12 and 24 nodes. A different number would move
 * accounts to other shards, and instances with different numbers would count separately.
 */
const shardCount = 24;

/** CRC16 (XMODEM) of the text. */
export function crc16(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}

/** Returns a key's slot. If the key contains braces, only the text in the first braces is hashed. */
export function hashSlot(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  return crc16(tag) % slotCount;
}

/**
 * Returns a hash tag for each shard. The slots of the shards are spread evenly over all slots, because each node owns
 * ranges of slots.
 */
export function createShardTags(): string[] {
  const tags = new Map<number, string>();
  for (let number = 0; tags.size < shardCount; number++) {
    const part = Math.floor((hashSlot(`${number}`) * shardCount) / slotCount);
    if (!tags.has(part)) tags.set(part, `${number}`);
  }
  return Array.from({ length: shardCount }, (_, part) => tags.get(part) ?? '');
}
