/**
 * Options of an `LRUCache` with this many entries that grows as it is filled. `max` would reserve all memory
 * immediately: megabytes per 100,000 entries.
 */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
