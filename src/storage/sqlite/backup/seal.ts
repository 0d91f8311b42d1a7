import type { Database } from 'bun:sqlite';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { BackupError } from '../../backup.ts';

/**
 * Placeholder for the SHA-256 of a backup while the digest is computed. The table has a single row, so the digest has a
 * page to itself.
 */
const blank = '0'.repeat(64);
const chunkBytes = 1_048_576;

export function makeSealTable(database: Database): void {
  database.run('CREATE TABLE backup_seal (sha256 TEXT NOT NULL) STRICT');
  database.query('INSERT INTO backup_seal VALUES (?)').run(blank);
}

interface SealPage {
  readonly at: number;
  readonly bytes: number;
}

/** Returns the page that contains the digest. Throws `BackupError` if there is no digest. */
export function sealPageOf(database: Database): SealPage {
  const [page] = database
    .query<{ at: number | bigint; bytes: number | bigint }, []>(
      `SELECT pgoffset AS at, pgsize AS bytes FROM dbstat WHERE name = 'backup_seal'`,
    )
    .all();
  if (page === undefined) throw new BackupError('damaged', 'The backup is damaged: it has no digest.');
  return { at: Number(page.at), bytes: Number(page.bytes) };
}

export function seal(path: string, page: SealPage): void {
  const file = openSync(path, 'r+');
  try {
    const place = placeOf(file, page, blank);
    writeSync(file, digestOf(file, place), place, 'latin1');
  } finally {
    closeSync(file);
  }
}

/** Whether the file is unchanged since it was sealed with this digest. */
export function isIntact(path: string, page: SealPage, digest: string): boolean {
  const file = openSync(path, 'r');
  try {
    return digestOf(file, placeOf(file, page, digest)) === digest;
  } finally {
    closeSync(file);
  }
}

function placeOf(file: number, { at, bytes }: SealPage, digest: string): number {
  const content = Buffer.alloc(bytes);
  readSync(file, content, 0, bytes, at);
  const place = content.indexOf(digest, 'latin1');
  if (place === -1 || digest.length !== blank.length) {
    throw new BackupError('damaged', 'The backup is damaged: its digest cannot be read.');
  }
  return at + place;
}

function digestOf(file: number, place: number): string {
  const hash = new Bun.CryptoHasher('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  for (let at = 0; ; ) {
    const bytes = readSync(file, chunk, 0, chunkBytes, at);
    if (bytes === 0) return hash.digest('hex');
    const part = chunk.subarray(0, bytes);
    const from = Math.max(place, at);
    const to = Math.min(place + blank.length, at + bytes);
    if (from < to) part.fill(blank.slice(0, to - from), from - at, to - at, 'latin1');
    hash.update(part);
    at += bytes;
  }
}
