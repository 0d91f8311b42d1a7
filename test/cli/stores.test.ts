/** How commands select a store. Commands never create or overwrite a store by mistake. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, stat } from 'node:fs/promises';
import { newestFormat } from '../../src/storage/sqlite/migrations.ts';
import { writeOldStore } from '../storage/old-store.ts';
import { digests } from '../storage/sqlite-files.ts';
import { newWorkplace, type Workplace } from '../support/cli.ts';
import { countsIn } from '../support/limit-file.ts';
import { makeStore, operatorOf } from '../support/process.ts';

let place: Workplace;
beforeEach(async () => {
  place = await newWorkplace({ store: false });
});
afterEach(() => place[Symbol.asyncDispose]());

const commands = [
  ['accounts', 'create', '--name', 'shop', '--plan', 'pro'],
  ['accounts', 'list'],
  ['accounts', 'set-plan', '1', 'pro'],
  ['keys', 'create', '--plan', 'free', '--name', 'till'],
  ['keys', 'list', '--json'],
  ['keys', 'rotate', '1'],
  ['keys', 'revoke', '1'],
  ['bans', 'list'],
  ['bans', 'lift', '1'],
  ['keys', 'set-scopes', '1', 'all'],
  ['pets', 'list'],
  ['pets', 'show', '1'],
  ['pets', 'update', '1', '--status', 'sold'],
  ['pets', 'remove', '1'],
  ['orders', 'list'],
  ['orders', 'place', '1'],
  ['orders', 'approve', '1'],
  ['categories', 'list'],
  ['categories', 'set', '1', 'Dogs'],
  ['inventory'],
  ['export', 'pets.csv'],
];

test('management commands report a missing store and do not create one', async () => {
  const ended = await Promise.all(
    commands.map((args) => place.run(args, { environment: { DATABASE_URL: 'sqlite:./shop/store.db' } })),
  );
  for (const { exitCode, stdout, stderr } of ended) {
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(`No store found at ${place.path('shop/store.db')}. Check DATABASE_URL`);
  }
  expect(await place.files()).toEqual([]);
});

test('every command except serve and migrate rejects a store of an older version, and changes nothing', async () => {
  await writeOldStore(place.path('store.db'), place.path('store.limits.db'));
  const name = await place.write('animals.csv', 'name,categoryId\nOzzy,1\n');
  const before = digests(place.folder);
  const others = [
    ['status'],
    ['usage'],
    ['events', 'list'],
    ['import', name],
    ['copy', '--from', `sqlite:${place.path('store.db')}`, '--to', 'sqlite:copy.db'],
    ['copy', '--from', 'sqlite:new.db', '--to', `sqlite:${place.path('store.db')}`],
  ];
  await place.run(['import', name], { environment: { DATABASE_URL: 'sqlite:new.db' } });
  for (const args of [...commands, ...others]) {
    const { exitCode, stdout, stderr } = await place.run(args);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' });
    expect(stderr).toContain(
      `The store ${place.path('store.db')} has format 1, from an older version of the service; this version needs format ${newestFormat}. Nothing was changed.`,
    );
  }
  expect(digests(place.folder)).toMatchObject(before);
  const { exitCode, stdout, stderr } = await place.run(['migrate']);
  expect([exitCode, stdout]).toEqual([
    0,
    `The store has format ${newestFormat}, the newest format that this version supports.\n`,
  ]);
  expect(stderr).toContain(`migrated ${place.path('store.db')} from format 1 to ${newestFormat}`);
  expect(await place.output('keys', 'list')).toContain('first');
});

test('import creates a missing store and prints its path', async () => {
  const name = await place.write('pets.csv', 'name,categoryId\nOzzy,1\n');
  const first = await place.run(['import', name, '--json']);
  expect(first.stderr).toBe(`Created a new store: sqlite:${place.path('store.db')}\n`);
  expect(JSON.parse(first.stdout)).toMatchObject({ added: 1 });
  const second = await place.run(['import', name, '--again', '--json']);
  expect([second.exitCode, second.stderr]).toEqual([0, '']);
});

test('serve creates a missing store and logs its path', async () => {
  await using service = await place.serve();
  service.signal('SIGTERM');
  await service.exited;
  const lines = service.stderr().trim().split('\n');
  const created = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'created a new store');
  expect(created.map(({ database }) => database)).toEqual([`sqlite:${place.path('store.db')}`]);
});

/** The first four bytes of a file. They identify SQLite's WAL and shared-memory files. */
const beginningOf = (path: string) => readFileSync(path).toString('hex', 0, 4);

test("import --rejects and export never overwrite a store's files, even with --force", async () => {
  const name = await place.write('pets.csv', 'name,categoryId\nOzzy,1\n,1\n');
  await using service = await place.serve();
  const targets = ['store.db', 'store.db-wal', 'store.db-shm', 'store.db.serving', 'store.limits'];
  // Compares only the first bytes, because the service still changes the rest of the files.
  const state = () => ({
    ...digests(place.folder),
    'store.db-wal': beginningOf(place.path('store.db-wal')),
    'store.db-shm': beginningOf(place.path('store.db-shm')),
    'store.limits': countsIn(place.path('store.limits'), 1),
  });
  const before = state();
  for (const target of targets) {
    for (const args of [
      ['import', name, '--rejects', target, '--force'],
      ['import', name, '--rejects', target, '--force', '--dry-run'],
      ['export', target, '--format', 'csv', '--force'],
    ]) {
      expect(await place.failure(2, ...args)).toBe(
        `animal-store: ${target} is a database or belongs to a store, and is never overwritten. Choose another file.\n`,
      );
    }
  }
  expect(state()).toEqual(before);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
});

test('import --rejects does not overwrite the store that the same import creates', async () => {
  const name = await place.write('pets.csv', 'name,categoryId\nOzzy,1\n,1\n');
  const { exitCode, stderr } = await place.run(['import', name, '--rejects', 'store.db', '--force']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('store.db is a database or belongs to a store');
  expect((await place.run(['accounts', 'list'])).exitCode).toBe(0);
});

test('export keeps the permissions of a file that it replaces', async () => {
  await place.json('import', await place.write('pets.csv', 'name,categoryId\nOzzy,1\n'));
  const modeOf = async (name: string) => ((await stat(place.path(name))).mode & 0o777).toString(8);
  for (const mode of [0o600, 0o666]) {
    await chmod(place.path(await place.write('out.csv', 'old')), mode);
    await place.json('export', 'out.csv', '--force');
    expect(await modeOf('out.csv')).toBe(mode.toString(8));
  }
});

test('an interrupted copy of one embedded store to another stops between two batches, and resumes', async () => {
  await makeStore(place.folder);
  {
    await using admin = await operatorOf(place.folder);
    const pets = Array.from({ length: 5_000 }, () => ({
      name: 'Ozzy',
      categoryId: 1n,
      status: 'sold' as const,
    }));
    for (let group = 0; group < 4; group++) await admin.storage.write('commitImport', { now: 0, pets });
  }
  const target = place.path('copied.db');
  const copying = place.run([
    'copy',
    '--from',
    `sqlite:${place.path('store.db')}`,
    '--to',
    `sqlite:${target}`,
  ]);
  let isOver = false;
  void copying.finally(() => {
    isOver = true;
  });
  while (!existsSync(target) && !isOver) await new Promise((resolve) => setImmediate(resolve));
  process.emit('SIGINT');
  const { exitCode, stderr } = await copying;
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Run the same command again to resume.')]);
  await place.output('copy', '--from', `sqlite:${place.path('store.db')}`, '--to', `sqlite:${target}`);
});
