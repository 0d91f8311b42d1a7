import { describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { skippedIdsPerRestore } from '../../src/tables/events.ts';
import { rowsOf } from '../storage/sqlite-files.ts';
import { backUp, change } from '../support/backup.ts';
import { newWorkplace, sharedWorkplace, type Workplace } from '../support/cli.ts';

const shop = await sharedWorkplace();
await shop.json('keys', 'create', '--plan', 'free', '--name', 'shop');
await shop.output('backup', 'made.backup');

/** A working folder with a store that has an account. */
async function newShop(): Promise<Workplace> {
  const place = await backedUpShop();
  rmSync(place.path('made.backup'));
  return place;
}

/** Like `newShop`, but with a backup of the store. */
async function backedUpShop(): Promise<Workplace> {
  const place = await newWorkplace({ store: false });
  cpSync(shop.folder, place.folder, { recursive: true });
  return place;
}

describe('the backup command', () => {
  test('prints the time and contents of the backup, and is recorded in the audit log', async () => {
    await using place = await newShop();
    await place.write('pets.csv', 'name,categoryId\nRex,1\nMia,2\n');
    await place.output('import', 'pets.csv');
    expect(await place.output('backup', 'made.backup')).toMatch(
      /^Backed up 2 animals and 1 account as of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ to made\.backup \([\d.]+ [KM]iB\)\.\nTo check it: animal-store backup verify made\.backup\n$/,
    );
    expect(statSync(place.path('made.backup')).mode & 0o777).toBe(0o600);
    const last = 'SELECT operation, object FROM audit ORDER BY id DESC LIMIT 1';
    expect(rowsOf(place.path('store.db'), last)).toEqual([
      { operation: 'createBackup', object: 'backup:made.backup' },
    ]);
  });

  test('overwrites only existing backups, and only with --replace', async () => {
    await using place = await backedUpShop();
    const before = readFileSync(place.path('made.backup'));
    expect(await place.failure(1, 'backup', 'made.backup')).toContain('Use --replace');
    expect(readFileSync(place.path('made.backup')).equals(before)).toBe(true);
    await place.write('letter', 'Dear animals');
    mkdirSync(place.path('folder'));
    for (const name of ['store.db', 'letter', 'folder']) {
      expect(await place.failure(1, 'backup', name, '--replace')).toContain('is not a backup');
    }
    symlinkSync(place.path('made.backup'), place.path('latest'));
    await place.output('backup', 'latest', '--replace');
    expect(readFileSync(place.path('made.backup')).equals(before)).toBe(false);
    await place.output('backup', 'verify', 'latest');
  });

  test("refuses the names of the store's own files, even if they do not exist yet", async () => {
    await using place = await newShop();
    rmSync(place.path('store.limits'), { force: true });
    symlinkSync(place.folder, place.path('link'));
    for (const name of [
      'store.limits',
      'store.db-wal',
      'link/store.limits',
      'store.db.serving',
      'store.db.first-key',
    ]) {
      rmSync(place.path(name), { force: true });
      expect(await place.failure(1, 'backup', name)).toContain('is the name of a file of the store');
      expect(existsSync(place.path(name))).toBe(false);
    }
  });

  test('fails with an error if the folder or the store is missing, or if the store is a folder', async () => {
    await using place = await newShop();
    expect(await place.failure(1, 'backup', 'missing/made.backup')).toContain('Folder not found');
    const folder = await place.run(['status'], { environment: { DATABASE_URL: 'sqlite:.' } });
    expect(folder).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is a folder') });
    const elsewhere = { environment: { DATABASE_URL: 'sqlite:missing.db' } };
    const { exitCode, stderr } = await place.run(['backup', 'made.backup'], elsewhere);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('No store found at')]);
    const cluster = {
      environment: { DATABASE_URL: 'postgres://a@127.0.0.1/b', REDIS_URL: 'redis://127.0.0.1' },
    };
    const refused = await place.run(['backup', 'made.backup'], cluster);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('pg_dump')]);
    expect(await place.files()).not.toContain('made.backup');
  });

  test('deletes the files left by a killed backup', async () => {
    await using place = await newShop();
    // No process has this id.
    await place.write('made.backup.4194999.partial', 'half');
    await place.write('made.backup.4194999.partial.limits', 'half');
    await place.output('backup', 'made.backup');
    expect((await place.files()).filter((name) => name.includes('partial'))).toEqual([]);
  });

  test('creates a file that commands refuse to open as a store', async () => {
    await using place = await backedUpShop();
    const { exitCode, stderr } = await place.run(['pets', 'list'], {
      environment: { DATABASE_URL: 'sqlite:made.backup' },
    });
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('made.backup is a backup. To serve its data'),
    ]);
  });
});

describe('backup verify', () => {
  test('prints the time and contents of a valid backup, as text and as JSON', async () => {
    await using place = await newShop();
    const made = await place.json<{ createdAt: string; bytes: number }>('backup', 'made.backup');
    const said = await place.output('backup', 'verify', 'made.backup');
    expect(said).toContain('\npets ');
    expect(said).toContain('made.backup is intact.\n');
    expect(await place.json('backup', 'verify', 'made.backup')).toMatchObject({
      file: 'made.backup',
      sound: true,
      kind: 'backup',
      createdAt: made.createdAt,
      bytes: made.bytes,
      counts: { pets: 0, accounts: 1 },
    });
  });

  test('fails for a damaged backup, with text and JSON output', async () => {
    await using place = await backedUpShop();
    change(place.path('made.backup'), "UPDATE accounts SET name = 'x'");
    expect(await place.failure(1, 'backup', 'verify', 'made.backup')).toContain('is damaged');
    const error = JSON.parse(await place.failure(1, 'backup', 'verify', 'made.backup', '--json'));
    expect(error).toMatchObject({ error: { message: expect.stringContaining('is damaged') } });
  });

  test('verifies the store if no file is given, even while a service uses the store', async () => {
    await using place = await newShop();
    expect(await place.output('backup', 'verify')).toContain('Read all of the store');
    await using _service = await place.serve();
    expect(await place.json('backup', 'verify')).toMatchObject({ kind: 'store', counts: { accounts: 1 } });
  });
});

describe('the restore command', () => {
  test('creates a store at another path, in a new folder', async () => {
    await using place = await backedUpShop();
    expect(await place.output('restore', 'made.backup', '--to', 'drill/copy.db')).toContain(
      'To serve this store: ',
    );
    expect(statSync(place.path('drill/copy.db')).mode & 0o777).toBe(0o600);
    const { exitCode } = await place.run(['accounts', 'list'], {
      environment: { DATABASE_URL: 'sqlite:drill/copy.db' },
    });
    expect(exitCode).toBe(0);
  });

  test('overwrites only existing stores, and only with --replace', async () => {
    await using place = await backedUpShop();
    expect(await place.failure(1, 'restore', 'made.backup')).toContain('Use --replace');
    await place.write('letter', 'Dear animals');
    expect(await place.failure(1, 'restore', 'made.backup', '--to', 'letter', '--replace')).toContain(
      'is not a store',
    );
    expect(readFileSync(place.path('letter'), 'utf8')).toBe('Dear animals');
    expect(await place.failure(1, 'restore', 'made.backup', '--to', '.')).toContain('is a folder');
    const inMemory = await place.run(['restore', 'made.backup', '--to', 'sqlite::memory:']);
    expect([inMemory.exitCode, await place.files()]).toEqual([
      2,
      expect.not.arrayContaining(['sqlite::memory:']),
    ]);
    await place.output('restore', 'made.backup', '--replace');
  });

  test('leaves a different gap in the ids each time, even if the backup was created a moment after a restore', async () => {
    await using place = await backedUpShop();
    const keys = async () => {
      await place.output('keys', 'create', '--plan', 'free', '--name', 'shop');
      const [row] = rowsOf<{ id: number }>(place.path('store.db'), 'SELECT max(id) AS id FROM keys');
      return row?.id ?? 0;
    };
    await place.output('restore', 'made.backup', '--replace');
    const restored = await keys();
    await place.output('backup', 'again.backup');
    const ids = [];
    for (const _ of [1, 2]) {
      await place.output('restore', 'again.backup', '--replace');
      ids.push(await keys());
    }
    expect(new Set(ids).size).toBe(2);
    for (const id of ids)
      expect([id, id > restored + skippedIdsPerRestore && id < 2 ** 53]).toEqual([id, true]);
  });

  test('changes nothing if the backup is damaged, missing, from a newer or unreleased version, or not a backup', async () => {
    await using place = await backedUpShop();
    const before = readFileSync(place.path('store.db'));
    copyFileSync(place.path('made.backup'), place.path('damaged.backup'));
    change(place.path('damaged.backup'), "UPDATE accounts SET name = 'x'");
    for (const format of [17, 9_999]) {
      const folder = place.path(`${format}`);
      mkdirSync(folder);
      copyFileSync(place.path('store.db'), `${folder}/store.db`);
      change(`${folder}/store.db`, `PRAGMA user_version = ${format}`);
      backUp(folder, `${folder}.backup`);
    }
    for (const [name, reason] of [
      ['missing', 'File not found'],
      ['store.db', 'is not a backup'],
      ['damaged.backup', 'damaged.backup is damaged'],
      ['17.backup', 'was created by an unreleased version (format 17) and cannot be upgraded'],
      ['9999.backup', 'Restore it with that version'],
    ] as const) {
      expect(await place.failure(1, 'restore', name, '--replace')).toContain(reason);
    }
    const elsewhere = ['damaged.backup', '--to', 'drill/here/copy.db'];
    expect(await place.failure(1, 'restore', ...elsewhere)).toContain('is damaged');
    expect(existsSync(place.path('drill'))).toBe(false);
    expect(readFileSync(place.path('store.db')).equals(before)).toBe(true);
    expect(existsSync(place.path('store.db.restoring'))).toBe(false);
  });

  test('deletes the copy left by a killed restore before it needs space, and so does the service', async () => {
    await using place = await backedUpShop();
    const copy = 'store.db.restoring';
    await place.write(copy, 'half');
    expect(await place.failure(1, 'restore', 'made.backup')).toContain('already exists');
    // A restore that cannot use the store must not touch the copy of another restore.
    expect(await place.files()).toContain(copy);
    const { bavail, bsize } = statfsSync(place.folder);
    truncateSync(place.path('made.backup'), (bavail + 1_000_000) * bsize);
    expect(await place.failure(1, 'restore', 'made.backup', '--replace')).toContain('Not enough space');
    expect(await place.files()).not.toContain(copy);
    await place.write(copy, 'half');
    await using _service = await place.serve();
    expect(await place.files()).not.toContain(copy);
  });

  test('replaces a damaged store', async () => {
    await using place = await backedUpShop();
    const bytes = readFileSync(place.path('store.db'));
    bytes.fill(0xa5, 100);
    await Bun.write(place.path('store.db'), bytes);
    expect(await place.failure(1, 'accounts', 'list')).toContain('store.db');
    await place.output('restore', 'made.backup', '--replace');
    expect(await place.output('accounts', 'list')).toContain('shop');
  });
});
