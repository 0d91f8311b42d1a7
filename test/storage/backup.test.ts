import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BackupError } from '../../src/backup/backup.ts';
import { verifyFile } from '../../src/backup/verify.ts';
import { backUp, change, makeSampleStore } from '../support/backup.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { dataFileIn, limitFileIn, makeStore } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';

const animals = Array.from({ length: 50 }, (_, number) => `animal ${number}`);
let folder: TemporaryFolder;
let backup: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  await makeSampleStore(folder.path, animals);
  backup = join(folder.path, 'made.backup');
  backUp(folder.path, backup, 1_795_000_000_000);
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Copies the backup, so that a test can damage it. */
function copy(name: string): string {
  const path = join(folder.path, name);
  copyFileSync(backup, path);
  return path;
}

function faultOf(path: string): { fault: string; message: string } {
  try {
    verifyFile(path);
  } catch (error) {
    if (error instanceof BackupError) return { fault: error.fault, message: error.message };
    throw error;
  }
  return { fault: 'none', message: '' };
}

describe('a backup', () => {
  test('is a single file that only its owner can read, with every row, the limit state and the time of the backup', () => {
    expect(verifyFile(backup)).toMatchObject({
      kind: 'backup',
      createdAt: 1_795_000_000_000,
      madeBy: '1.2.3',
      counts: { pets: animals.length, accounts: 3, keys: 3 },
      limitBytes: statSync(limitFileIn(folder.path)).size,
      bytes: statSync(backup).size,
    });
    expect(statSync(backup).mode & 0o777).toBe(0o600);
  });

  test('creates no other files and does not change the store', () => {
    const before = readFileSync(dataFileIn(folder.path));
    const other = join(folder.path, 'other.backup');
    backUp(folder.path, other);
    expect(Bun.file(`${other}.limits`).size).toBe(0);
    expect(Bun.file(`${other}-journal`).size).toBe(0);
    expect(readFileSync(dataFileIn(folder.path)).equals(before)).toBe(true);
  });

  test('of a store that was never served contains no limit state', async () => {
    await using own = await temporaryFolder();
    await using place = await temporaryFolder();
    await makeStore(own.path);
    expect(backUp(own.path, join(place.path, 'new.backup')).limitBytes).toBe(0);
    expect(verifyFile(join(place.path, 'new.backup'))).toMatchObject({ limitBytes: 0, counts: { pets: 0 } });
  });

  test('of a store whose restore was interrupted contains the restored limit state', async () => {
    await using own = await temporaryFolder();
    const data = dataFileIn(own.path);
    copyFileSync(backup, data);
    change(data, `DROP TABLE backup; DROP TABLE backup_seal; PRAGMA application_id = ${0x416e5374}`);
    writeFileSync(limitFileIn(own.path), 'former limit state');
    const { limitBytes } = backUp(own.path, join(own.path, 'made.backup'));
    expect(limitBytes).toBe(statSync(limitFileIn(folder.path)).size);
    expect(verifyFile(join(own.path, 'made.backup'))).toMatchObject({ limitBytes });
  });

  test('of a damaged store fails with an error that reports the damage', async () => {
    await using own = await temporaryFolder();
    const data = dataFileIn(own.path);
    copyFileSync(backup, data);
    change(data, `PRAGMA application_id = ${0x416e5374}`);
    const bytes = readFileSync(data);
    // Overwrites all pages except the first ones, which contain the schema.
    bytes.fill(0xa5, bytes.length / 2);
    writeFileSync(data, bytes);
    expect(() => backUp(own.path, join(own.path, 'made.backup'))).toThrow(/damaged/);
  });
});

describe('verification detects', () => {
  test('a single flipped bit anywhere in the file', () => {
    const path = copy('bit.backup');
    const sound = readFileSync(path);
    const random = randomFrom(7);
    for (let round = 0; round < 100; round++) {
      const bytes = Buffer.from(sound);
      // The first rounds damage the header, most of which SQLite does not check.
      const at = Math.floor(random() * (round < 50 ? 100 : bytes.length));
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
      writeFileSync(path, bytes);
      expect([at, faultOf(path).fault]).not.toEqual([at, 'none']);
    }
  });

  test('a file truncated by a byte, by a page or to almost nothing', () => {
    const { size } = statSync(backup);
    for (const length of [size - 1, size - 4_096, Math.floor(size / 2), 5_000, 4_096, 100]) {
      const path = copy('short.backup');
      truncateSync(path, length);
      expect([length, faultOf(path).fault]).toEqual([length, 'damaged']);
    }
  });

  test('appended bytes', () => {
    const path = copy('long.backup');
    writeFileSync(path, 'x', { flag: 'a' });
    expect(faultOf(path).fault).toBe('damaged');
  });

  test('changed or deleted rows and tables', () => {
    for (const statement of [
      `UPDATE pets SET name = 'another' WHERE id = 1`,
      'DELETE FROM pets WHERE id = 1',
      'DELETE FROM backup_limits',
      'DROP TABLE backup_seal',
      'DELETE FROM backup',
      `UPDATE backup_seal SET sha256 = ''`,
    ]) {
      const path = copy('changed.backup');
      change(path, statement);
      expect([statement, faultOf(path).fault]).toEqual([statement, 'damaged']);
    }
  });
});

describe('verification', () => {
  test("does not report a missing file, a folder, a text file or another program's database as a damaged backup", () => {
    const at = (name: string) => join(folder.path, name);
    writeFileSync(at('empty'), '');
    writeFileSync(at('text'), 'name,categoryId,status\n'.repeat(10));
    mkdirSync(at('folder'));
    writeFileSync(at('other.db'), '');
    change(at('other.db'), 'CREATE TABLE pets (id)');
    const faults = ['missing', 'empty', 'text', 'folder', 'other.db'].map((name) => faultOf(at(name)));
    expect(faults.map(({ fault }) => fault)).toEqual(['missing', 'damaged', 'foreign', 'foreign', 'foreign']);
  });

  test('also accepts a store that is not a backup', () => {
    expect(verifyFile(dataFileIn(folder.path))).toMatchObject({
      kind: 'store',
      counts: { pets: animals.length },
    });
  });

  test('reports the format of a backup from a newer version instead of calling it damaged', async () => {
    await using own = await temporaryFolder();
    copyFileSync(dataFileIn(folder.path), dataFileIn(own.path));
    change(dataFileIn(own.path), 'PRAGMA user_version = 9999');
    const newer = join(own.path, 'newer.backup');
    backUp(own.path, newer);
    const { kind, format, newestFormat } = verifyFile(newer);
    expect([kind, format]).toEqual(['backup', 9_999]);
    expect(newestFormat).toBeLessThan(9_999);
  });
});
