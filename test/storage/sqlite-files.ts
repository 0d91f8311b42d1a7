import { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs a query on a separate connection, as another process would. */
export function rowsOf<Row>(path: string, sql: string, ...values: (string | number)[]): Row[] {
  using database = new Database(path, { readwrite: true });
  return database.query<Row, (string | number)[]>(sql).all(...values);
}

/**
 * Number of commits in a write-ahead log: the frames that contain the database size after a commit
 * (https://sqlite.org/fileformat2.html#the_write_ahead_log). Frames from before the last reset have different salts.
 */
export function commitsInWal(path: string): number {
  const wal = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : Buffer.alloc(0);
  if (wal.length < 32) return 0;
  const pageBytes = wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let commits = 0;
  for (let frame = 32; frame + 24 + pageBytes <= wal.length; frame += 24 + pageBytes) {
    if (!wal.subarray(frame + 8, frame + 16).equals(salts)) break;
    if (wal.readUInt32BE(frame + 4) > 0) commits++;
  }
  return commits;
}

/** Every file of a folder with a digest of its bytes. */
export function digests(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}
