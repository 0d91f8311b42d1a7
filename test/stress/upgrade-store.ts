/** A store of version 1.0.0 with animals and keys, and the responses expected after an upgrade. */
import { Database } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { computeFingerprint, generateKey, lastFour } from '../../src/domain/key.ts';
import { newestFormat } from '../../src/storage/sqlite/migrations.ts';
import { writeOldStore } from '../storage/old-store.ts';
import { rowsOf } from '../storage/sqlite-files.ts';
import { ample, dataFileIn } from '../support/process.ts';

export interface PetRow {
  readonly id: number;
  readonly name: string;
  readonly categoryId: string;
  readonly status: string;
}

/** Data of 1.0.0 that must survive the upgrade. */
export interface OldStore {
  readonly animals: number;
  readonly key: string;
  readonly digest: string;
}

const columns = 'id, name, CAST(category_id AS TEXT) AS categoryId, status';

/** Writes a store with four animals into a folder, then adds animals until there are `animals` in total. */
export async function writeStore(folder: string, animals: number): Promise<OldStore> {
  const path = dataFileIn(folder);
  await writeOldStore(path, join(folder, 'store.limits.db'));
  const key = generateKey(randomBytes);
  {
    using database = new Database(path);
    database.run(
      "INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at) VALUES (90, 'shop', 'enterprise', ?, ?, 1)",
      [ample.perMinute, ample.perDay],
    );
    database.run(
      "INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at) VALUES (90, 90, 'till', ?, ?, 1)",
      [computeFingerprint(key), lastFour(key)],
    );
    database.run(
      `INSERT INTO pets (name, category_id, status)
       WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
       SELECT 'Ozzy "the Brave" ' || number || ' 犬', number % 50 - 25,
              CASE WHEN number * 7 % 20 < 12 THEN 'available' WHEN number * 7 % 20 < 17 THEN 'pending' ELSE 'sold' END
       FROM numbers`,
      [animals - 4],
    );
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }
  return { animals, key, digest: digestOf(path) };
}

/** A digest of all animals with exact integers. Use only for small stores. */
export function digestOf(path: string): string {
  using database = new Database(path, { readonly: true });
  const hash = new Bun.CryptoHasher('sha256');
  for (const row of database.query<PetRow, []>(`SELECT ${columns} FROM pets ORDER BY id`).iterate()) {
    hash.update(petText(row));
  }
  return hash.digest('hex');
}

export function petText({ id, name, categoryId, status }: PetRow): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** The first 20 animals that match, in ascending order of id, as the body of a page. */
export function pageText(path: string, where: string): string {
  const rows = rowsOf<PetRow>(path, `SELECT ${columns} FROM pets WHERE ${where} ORDER BY id LIMIT 20`);
  return `[${rows.map(petText).join(',')}]`;
}

/** True if the data file has the current format, false if it has the format of 1.0.0. Throws for any other format. */
export function isUpgraded(path: string): boolean {
  const [row] = rowsOf<{ user_version: number }>(path, 'PRAGMA user_version');
  const version = row?.user_version;
  if (version === newestFormat) return true;
  if (version === 1) return false;
  throw new Error(`The data file has format ${version}: the upgrade is incomplete.`);
}
