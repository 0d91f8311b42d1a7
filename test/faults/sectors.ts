/** Disks write whole sectors. A write of several sectors may be interrupted between any two, in any order. */
export const sectorBytes = 512;

/** A sector's new content. */
export interface Sector {
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Sectors of a file that changed, including new ones. */
export function changedSectors(before: Buffer, after: Buffer): Sector[] {
  const changed: Sector[] = [];
  for (let offset = 0; offset < after.length; offset += sectorBytes) {
    const data = after.subarray(offset, offset + sectorBytes);
    if (!data.equals(before.subarray(offset, offset + sectorBytes))) changed.push({ offset, data });
  }
  return changed;
}

/** A write as the disk may perform it, split at sector boundaries. */
export function sectorsOf({ offset, data }: Sector): Sector[] {
  const parts: Sector[] = [];
  for (let from = offset; from < offset + data.length; ) {
    const to = Math.min(offset + data.length, (Math.floor(from / sectorBytes) + 1) * sectorBytes);
    parts.push({ offset: from, data: data.subarray(from - offset, to - offset) });
    from = to;
  }
  return parts;
}
