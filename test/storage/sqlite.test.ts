import { Database } from 'bun:sqlite';
import { describe, expect, spyOn, test } from 'bun:test';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { totalAnimals } from '../../src/contract/pets.ts';
import type { Store } from '../../src/operations/units.ts';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { type Migrations, openDatabase } from '../../src/storage/sqlite/database.ts';
import { newestFormat } from '../../src/storage/sqlite/migrations.ts';
import { createFileIfMissing } from '../../src/store-files/files.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { migrationsWith } from './old-store.ts';
import { strictRules } from './place.ts';
import { newPet } from './samples.ts';
import { commitsInWal, digests, rowsOf } from './sqlite-files.ts';

function open(path: string, isServing = true): Promise<Store> {
  return openStore({ url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, isServing });
}

function migrate(path: string, migrations: Migrations): Database {
  createFileIfMissing(path);
  const lock = () => ({ [Symbol.dispose]: () => {} });
  return openDatabase({ path, migrations, create: true, migrates: true, busyTimeoutMs: 0, lock });
}

describe('the data file', () => {
  test('is migrated with temporary files in its folder, because a container may not be able to write elsewhere', async () => {
    await using folder = await temporaryFolder();
    let seen: unknown;
    const look = (database: Database) => {
      seen = database.query('PRAGMA temp_store_directory').get();
    };
    using _migrated = migrate(join(folder.path, 'store.db'), migrationsWith(look));
    expect(seen).toEqual({ temp_store_directory: folder.path });
  });

  test('every commit is synced before its response is sent, in WAL mode with synchronous=FULL', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'store.db');
    const runs = spyOn(Database.prototype, 'run');
    await using store = await open(path);
    await store.write('createPet', { now: 0, body: newPet('Ozzy') });
    const connections = runs.mock.contexts as Database[];
    const connection = connections.find(({ filename }) => filename === path);
    runs.mockRestore();
    const setting = (name: string) =>
      Number(Object.values(connection?.query(`PRAGMA ${name}`).get() ?? {})[0]);
    expect(setting('synchronous')).toBe(2);
    expect(connection?.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  test('concurrent create requests share commits, and no response is sent before its commit', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'store.db');
    await using store = await open(path);
    using reader = new Database(path, { readonly: true });
    const find = reader.query('SELECT 1 FROM pets WHERE id = ?');
    const before = commitsInWal(path);
    const seen = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const { id } = await store.write('createPet', { now: 0, body: newPet(`${index}`) });
        return find.all(id).length;
      }),
    );
    expect(seen).toEqual(Array.from({ length: 64 }, () => 1));
    expect(commitsInWal(path) - before).toBeLessThanOrEqual(2);
  });

  test('the WAL stays bounded after thousands of insertions', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'store.db');
    await using store = await open(path);
    for (let round = 0; round < 400; round++) {
      await Promise.all(
        Array.from({ length: 5 }, () => store.write('createPet', { now: 0, body: newPet('Ozzy') })),
      );
    }
    expect(totalAnimals(await store.pets.inventory())).toBe(2_000);
    // SQLite's default limit is 1,000 pages of 4 KiB, checked after each commit.
    expect(statSync(`${path}-wal`).size).toBeLessThan(6 * 2 ** 20);
  });
});

describe('migration', () => {
  test.each([
    [newestFormat + 1, /written by a newer version.*Use that version or a newer one/],
    [
      // Between those of 1.0.0 and 1.1.0.
      2,
      /from an unreleased version .* Restore a backup of a released version, or export the animals/,
    ],
  ])(
    'a file of format %d, which is not of a released version, is rejected with the remedy and left unchanged',
    async (format, message) => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, 'store.db');
      await (await open(path))[Symbol.asyncDispose]();
      rowsOf(path, `PRAGMA user_version = ${format}`);
      const before = digests(folder.path);
      await expect(open(path)).rejects.toThrow(StoreUnusableError);
      await expect(open(path)).rejects.toThrow(message);
      expect(digests(folder.path)).toEqual(before);
    },
  );

  test.each([0, 1, newestFormat, 99])(
    'a database that belongs to another program (version %d) is rejected and left unchanged',
    async (version) => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, 'store.db');
      {
        using foreign = new Database(path, { create: true });
        foreign.run('CREATE TABLE songs (title TEXT)');
        foreign.run(`PRAGMA user_version = ${version}`);
      }
      const before = digests(folder.path);
      await expect(open(path)).rejects.toThrow(/another program's database/);
      expect(digests(folder.path)).toEqual(before);
    },
  );

  test('a file that is not a database is rejected and left unchanged', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'store.db');
    writeFileSync(path, 'My shopping list: 1 hamster\n'.repeat(400));
    const before = digests(folder.path);
    await expect(open(path)).rejects.toThrow(StoreUnusableError);
    await expect(open(path)).rejects.toThrow(/store\.db.*file is not a database/);
    expect(digests(folder.path)).toEqual(before);
  });

  test('a step that fails halfway leaves the file unchanged', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'store.db');
    {
      await using store = await open(path);
      await store.write('createPet', { now: 0, body: newPet('Ozzy') });
    }
    const schema = () => rowsOf(path, 'SELECT type, name, sql FROM sqlite_schema ORDER BY name');
    const before = schema();
    const broken = 'CREATE TABLE half (id INTEGER) STRICT; DELETE FROM pets; INSERT INTO missing VALUES (1);';
    expect(() =>
      migrate(
        path,
        migrationsWith((database) => database.run(broken)),
      ),
    ).toThrow(/no such table: missing/);
    expect(schema()).toEqual(before);
    expect(rowsOf(path, 'PRAGMA user_version')).toEqual([{ user_version: newestFormat }]);
    await using store = await open(path);
    expect((await store.pets.list(0n, 10)).map(({ name }) => name)).toEqual(['Ozzy']);
  });

  test('a missing folder is created, or the error is reported if that fails', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'deep', 'er', 'store.db');
    await using store = await open(path);
    expect(await store.health()).toEqual([]);
    expect(existsSync(path)).toBe(true);
    await expect(open(join(path, 'store.db'))).rejects.toThrow(StoreUnusableError);
  });
});
