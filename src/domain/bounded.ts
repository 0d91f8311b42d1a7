/**
 * Options of an `LRUCache` that is bounded by a number of entries and grows as it is filled. Given as `max`, the bound would
 * be reserved at once: megabytes for each 100,000 entries.
 */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
