/**
 * Disks write whole sectors. If a write of several sectors is interrupted, any subset of the sectors may be written.
 */
const sectorBytes = 512;

/** A sector's new content. */
export interface Sector {
  readonly offset: number;
  readonly data: Uint8Array;
}

/** The changed and new sectors of a file. */
export function changedSectors(before: Buffer, after: Buffer): Sector[] {
  const changed: Sector[] = [];
  for (let offset = 0; offset < after.length; offset += sectorBytes) {
    const data = after.subarray(offset, offset + sectorBytes);
    if (!data.equals(before.subarray(offset, offset + sectorBytes))) changed.push({ offset, data });
  }
  return changed;
}

/** Splits a write at sector boundaries, as a disk may do. */
export function sectorsOf({ offset, data }: Sector): Sector[] {
  const parts: Sector[] = [];
  for (let from = offset; from < offset + data.length; ) {
    const to = Math.min(offset + data.length, (Math.floor(from / sectorBytes) + 1) * sectorBytes);
    parts.push({ offset: from, data: data.subarray(from - offset, to - offset) });
    from = to;
  }
  return parts;
}
