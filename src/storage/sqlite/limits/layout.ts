/**
 * How the file of limit state is laid out. It is mapped into memory, in the machine's own byte order, and made of
 * extents of one size. The first is the header; each other one belongs to a table and says so itself, so that the
 * header's directory can always be made anew.
 */

export const extentBytes = 262_144;
/** What an extent begins with, before its records. */
export const extentHeaderBytes = 64;
/** Read in another byte order it is another number, and the file is not taken for what it is not. */
export const format = 1;

/** What the file begins with, as text. */
export const fileMagic = 'AnStLim\n';
/** What every other extent begins with. */
export const extentMagic = 0x4c696d45;

/** Where the header has what: indexes of 32-bit words, but `aheadMs`, which is one of 64-bit words. */
export const header = {
  // Written once, and under the checksum.
  format: 2,
  strikes: 3,
  seedLow: 4,
  seedHigh: 5,
  /** Steady second as of which accounts without a count are used up, for counts were lost; 0 when none were. */
  strictSince: 6,
  checksum: 7,
  // What changes.
  firstOwner: 16,
  nextOwner: 17,
  extents: 18,
  growing: 19,
  stepping: 20,
  steps: 21,
  aheadMs: 11,
  /** Whether anything was written since the last sync began. */
  changed: 24,
  /** Whether the last sync failed. */
  failing: 25,
  /** Two words for each worker number up to `mostWorkers`: the owner number, and the lock that is about to be taken. */
  workers: 256,
} as const;

export interface TableLayout {
  readonly number: number;
  /** Where the header has its extents, by their order in the table; 0: not there yet. */
  readonly directory: number;
  /** Most extents the table can have. */
  readonly reach: number;
}

export const tables = {
  addresses: { number: 3, directory: 768, reach: 8 },
  accounts: { number: 1, directory: 1_024, reach: 4_096 },
  keys: { number: 2, directory: 5_120, reach: 60_416 },
} as const satisfies Record<string, TableLayout>;

/** Locks are named by 32-bit indexes of 32-bit words. */
export const mostExtents = 32_768;

/** A checksum of so many words, and of a number that tells records of the same content apart. */
export function checksumOf(words: Int32Array, from: number, count: number, id: number): number {
  let sum = id | 0;
  for (let index = from; index < from + count; index++) {
    sum = Math.imul(sum ^ (words[index] as number), 0x85eb_ca6b);
    sum ^= sum >>> 15;
  }
  return Math.imul(sum, 0xc2b2_ae35) ^ 0x5bd1_e995;
}
