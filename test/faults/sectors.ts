/** Disks write whole sectors; a write of several may end between any two, in any order. */
export const sectorBytes = 512;

/** A sector's new content. */
export interface Sector {
  readonly offset: number;
  readonly data: Uint8Array;
}

/** The sectors of a file that are not as they were, those it has grown by included. */
export function changedSectors(before: Buffer, after: Buffer): Sector[] {
  const changed: Sector[] = [];
  for (let offset = 0; offset < after.length; offset += sectorBytes) {
    const data = after.subarray(offset, offset + sectorBytes);
    if (!data.equals(before.subarray(offset, offset + sectorBytes))) changed.push({ offset, data });
  }
  return changed;
}

/** A write as the disk may do it: cut where sectors meet. */
export function sectorsOf({ offset, data }: Sector): Sector[] {
  const parts: Sector[] = [];
  for (let from = offset; from < offset + data.length; ) {
    const to = Math.min(offset + data.length, (Math.floor(from / sectorBytes) + 1) * sectorBytes);
    parts.push({ offset: from, data: data.subarray(from - offset, to - offset) });
    from = to;
  }
  return parts;
}
