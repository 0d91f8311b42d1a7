/**
 * `LRUCache` options that limit the number of entries. The cache grows as it is filled, whereas `max` would reserve all
 * memory immediately (megabytes per 100,000 entries).
 */
export function maxEntries(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
