/**
 * Layout of the limit file, which is mapped into memory in the machine's byte order. The file consists of extents of
 * equal size. The first extent is the header. Each of the remaining extents contains the number of its table, so that
 * the directory in the header can be rebuilt.
 */

export const extentBytes = 262_144;
export const extentHeaderBytes = 64;
/** A machine with another byte order reads a different format number, and therefore rejects the file. */
export const format = 1;

export const extentMagic = 0x4c696d45;

/** Positions in the header: indexes of 32-bit words, except `aheadMs`, which is an index of 64-bit words. */
export const header = {
  // These words are written once and covered by the checksum.
  format: 2,
  strikes: 3,
  seedLow: 4,
  seedHigh: 5,
  /**
   * Monotonic time in seconds at which counts were lost; 0 if none were lost. From this time on, an account without a
   * record counts as exhausted.
   */
  strictSince: 6,
  checksum: 7,
  // Mutable state:
  firstOwner: 16,
  nextOwner: 17,
  extents: 18,
  growing: 19,
  stepping: 20,
  steps: 21,
  aheadMs: 11,
  /** Position and number of 64-bit words: the identities of the files in use (`served-files.ts`). */
  served: 14,
  servedWords: 6,
  /** Position of two 64-bit words: the last check of the data file, and the file's modification time then. */
  seenAt: 20,
  modified: 21,
  /** Number of changes to the store (`served-files.ts`). */
  changes: 22,
  /** 1 if anything was written since the last sync began. */
  changed: 24,
  /** 1 if the last sync failed. */
  failing: 25,
  /**
   * Two words for each worker number up to `maxWorkers`: the worker's owner number, and the lock that the worker is
   * about to acquire.
   */
  workers: 256,
} as const;

export interface TableLayout {
  readonly number: number;
  /**
   * Position of the table's directory in the header: extent numbers, with 0 for free slots. An extent is in the slot of
   * its index modulo `slots`, or in the next free slot, because ids have large gaps after a restore.
   */
  readonly directory: number;
  readonly slots: number;
}

export const limitTables = {
  addresses: { number: 3, directory: 768, slots: 8 },
  accounts: { number: 1, directory: 1_024, slots: 4_096 },
  keys: { number: 2, directory: 5_120, slots: 60_416 },
} as const satisfies Record<string, TableLayout>;

/** Maximum number of extents, because a lock is identified by the 32-bit index of its word. */
export const maxExtents = 32_768;

/**
 * A checksum of `count` words and `id`. Includes the id, so that records with the same content have different
 * checksums.
 */
export function computeChecksum(words: Int32Array, from: number, count: number, id: number): number {
  let sum = id | 0;
  for (let index = from; index < from + count; index++) {
    sum = Math.imul(sum ^ (words[index] as number), 0x85eb_ca6b);
    sum ^= sum >>> 15;
  }
  return Math.imul(sum, 0xc2b2_ae35) ^ 0x5bd1_e995;
}
