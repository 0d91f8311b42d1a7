/** Files of an embedded store that are deleted or replaced while the service uses them. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { troubles } from '../../src/domain/troubles.ts';
import { header } from '../../src/limits/file/layout.ts';
import { readRecordedChanges } from '../../src/limits/file/served-files.ts';
import { readChangeCount } from '../../src/storage/sqlite/sqlite.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  dataFileIn,
  finished,
  issueKey,
  makeStore,
  program,
  type Service,
  settingsIn,
  startService,
} from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { untilReady } from '../support/ready.ts';
import { until } from '../support/wait.ts';
import { expectStored, expectUnavailable } from './disk.ts';
import { storedAnimals } from './stored.ts';

interface Loss {
  readonly what: string;
  /** Returns a function that undoes the loss, if that is possible. */
  lose(folder: string): (() => void) | undefined;
  /** Suffix of the path that the log names. */
  readonly named: string;
  readonly how: 'deleted' | 'replaced';
}

function moved(path: string, replacement?: string): () => void {
  const aside = `${path}.aside`;
  renameSync(path, aside);
  if (replacement !== undefined) copyFileSync(replacement, path);
  return () => renameSync(aside, path);
}

const losses: readonly Loss[] = [
  {
    what: 'the data file is deleted',
    lose: (folder) => void rmSync(dataFileIn(folder)),
    named: 'store.db',
    how: 'deleted',
  },
  {
    what: 'the data file is moved away',
    lose: (folder) => moved(dataFileIn(folder)),
    named: 'store.db',
    how: 'deleted',
  },
  {
    what: 'the data file is replaced by another store',
    lose: (folder) => moved(dataFileIn(folder), join(dirname(folder), 'other.db')),
    named: 'store.db',
    how: 'replaced',
  },
  {
    what: 'the WAL is moved away',
    lose: (folder) => moved(`${dataFileIn(folder)}-wal`),
    named: 'store.db-wal',
    how: 'deleted',
  },
  {
    what: 'the WAL-index is moved away',
    lose: (folder) => moved(`${dataFileIn(folder)}-shm`),
    named: 'store.db-shm',
    how: 'deleted',
  },
  {
    what: 'the lock file is moved away',
    lose: (folder) => moved(`${dataFileIn(folder)}.serving`),
    named: 'store.db.serving',
    how: 'deleted',
  },
  { what: 'the folder is moved away', lose: (folder) => moved(folder), named: 'store.db', how: 'deleted' },
];

/** Creates a folder `store` with the store to lose, and `other.db`, a data file of another store. */
async function prepared(place: string): Promise<string> {
  const folder = join(place, 'store');
  mkdirSync(folder);
  await makeStore(place);
  renameSync(dataFileIn(place), join(place, 'other.db'));
  await makeStore(folder);
  return folder;
}

/** Resolves when `/readyz` reports that a file of the store is lost. */
async function untilLost({ url }: Service): Promise<void> {
  await until(async () => {
    const body = (await (await fetch(`${url}/readyz`)).json()) as { status: string; trouble?: string[] };
    return body.status === 'degraded' && body.trouble?.includes(troubles.storeFiles) === true;
  });
}

for (const WORKERS of ['1', '2']) {
  for (const { what, lose, named, how } of losses) {
    test(`with ${WORKERS === '1' ? 'one process' : 'workers'}, no change is acknowledged while ${what}`, async () => {
      await using place = await temporaryFolder();
      const folder = await prepared(place.path);
      const key = await issueKey(folder, 'enterprise', ample);
      const environment = { WORKERS, DRAIN_SECONDS: '0', ADMIN_PORT: 'off' };
      await using service = await startService(folder, environment);
      const client = clientOf(service.url, key);
      const stored = new Map<string, number>();
      const add = async (name: string) => {
        const { status, text } = await client.add(name);
        expect(status).toBe(201);
        stored.set(name, (JSON.parse(text) as { id: number }).id);
      };
      await add('before');
      const undo = lose(folder);
      // Detected without a write.
      await untilLost(service);
      await service.logged(
        new RegExp(`degraded: animal storage unavailable: [^"]*/${named} was ${how} (or moved )?while`),
      );
      for (let attempt = 0; attempt < 5; attempt++) expectUnavailable(await client.add('lost'));
      expect((await client.get('/pets?limit=1')).status).toBe(200);
      if (undo !== undefined) {
        undo();
        await service.logged('animal storage available again');
        await untilReady(service.url);
        await add('after');
      }
      service.signal('SIGTERM');
      expect(await service.exited).toBe(0);
      if (undo !== undefined) expectStored(folder, stored);
    });
  }
}

test('a change that is committed after the data file was deleted is not acknowledged', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, key);
  // The deletion does not wait for a change, and no check runs between the two.
  for (let round = 0; round < 20; round++) {
    expect((await client.add('before')).status).toBe(201);
    const undo = moved(dataFileIn(folder));
    expectUnavailable(await client.add('lost'));
    undo();
    await until(async () => (await client.add('again')).status === 201);
  }
});

const truncations: readonly [what: string, named: string, truncate: (data: string) => void][] = [
  [
    'WAL was emptied, as logrotate does with copytruncate',
    'store.db-wal',
    (data) => truncateSync(`${data}-wal`),
  ],
  [
    'WAL was truncated by a byte',
    'store.db-wal',
    (data) => truncateSync(`${data}-wal`, statSync(`${data}-wal`).size - 1),
  ],
  [
    'WAL was emptied and extended to its former size',
    'store.db-wal',
    (data) => writeFileSync(`${data}-wal`, Buffer.alloc(statSync(`${data}-wal`).size)),
  ],
  ['data file was emptied', 'store.db', (data) => truncateSync(data)],
  [
    'data file lost its last page while the WAL had unsaved changes',
    'store.db',
    (data) => truncateSync(data, statSync(data).size - 4_096),
  ],
];

for (const WORKERS of ['1', '2']) {
  test.each(truncations)(
    `with WORKERS=${WORKERS}, no change is acknowledged after a truncation in place (the %s)`,
    async (_, named, truncate) => {
      await using place = await temporaryFolder();
      const folder = await prepared(place.path);
      const key = await issueKey(folder, 'enterprise', ample);
      await using service = await startService(folder, { WORKERS, DRAIN_SECONDS: '0', ADMIN_PORT: 'off' });
      const client = clientOf(service.url, key);
      expect((await client.add('before')).status).toBe(201);
      truncate(dataFileIn(folder));
      // Rejected without a previous check of the files.
      for (let attempt = 0; attempt < 5; attempt++) expectUnavailable(await client.add('lost'));
      await until(async () =>
        (await (await fetch(`${service.url}/readyz`)).text()).includes(troubles.storeFiles),
      );
      await service.logged(
        new RegExp(
          `animal storage unavailable: [^"]*/${named} was (truncated|overwritten)[^"]* while it was in use`,
        ),
      );
    },
  );
}

test('the service keeps working when another program checkpoints and truncates the WAL', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, key);
  for (let round = 0; round < 20; round++) {
    expect((await client.add('before')).status).toBe(201);
    using other = new Database(dataFileIn(folder));
    other.run('PRAGMA busy_timeout = 10000');
    other.run(round % 2 === 0 ? 'PRAGMA wal_checkpoint(TRUNCATE)' : 'VACUUM');
    expect((await client.add('after')).status).toBe(201);
  }
  await untilReady(service.url);
});

const refusal =
  / (is missing|is empty), but other files of its store exist: .*\. If the service is still running, do not stop it: .* Otherwise, put the data file back, or restore a backup/;

test.each([
  ['the data file is missing beside its WAL', ['store.db-wal'], undefined],
  ['the data file is missing beside its WAL-index', ['store.db-shm'], undefined],
  ['the data file is missing beside the limit file', ['store.limits'], undefined],
  ['the data file was emptied', ['store.limits'], ''],
])('the service does not start, and commands fail, if %s', async (_, remains, contents) => {
  await using folder = await temporaryFolder();
  for (const name of remains) writeFileSync(join(folder.path, name), 'kept');
  if (contents !== undefined) writeFileSync(dataFileIn(folder.path), contents);
  const before = readdirSync(folder.path).sort();
  for (const words of [['serve'], ['import', '-', '--format', 'csv'], ['keys', 'list']]) {
    const { exitCode, stderr } = await finished([...program, ...words], {
      environment: settingsIn(folder.path),
    });
    expect([words, exitCode, stderr]).toEqual([words, 1, expect.stringMatching(refusal)]);
  }
  expect(readdirSync(folder.path).sort()).toEqual(before);
});

test('the data of a deleted store can be saved while the service runs', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, key);
  const stored = new Map<string, number>();
  for (const name of ['one', 'two']) stored.set(name, JSON.parse((await client.add(name)).text).id);
  rmSync(folder, { recursive: true });
  await untilLost(service);
  // Never advises a restart, which would delete the last copy.
  await service.logged(
    /limit storage unavailable: [^"]*do not restart the service before you have saved the data/,
  );
  expect(service.stderr()).not.toContain('or restart the service');
  // As described in docs/troubleshooting.md.
  const saved = join(place.path, 'saved');
  mkdirSync(saved);
  const open = `/proc/${service.pid}/fd`;
  for (const fd of readdirSync(open)) {
    const name = /\/(store\.(?:db|db-wal|limits)) \(deleted\)$/.exec(readlinkSync(join(open, fd)))?.[1];
    if (name !== undefined && !existsSync(join(saved, name))) copyFileSync(join(open, fd), join(saved, name));
  }
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  const warned = service.stderr().match(/^.*"level":(?:50|"error").*stopping deletes the last copy.*$/gm);
  expect(warned).toEqual([expect.stringContaining(`kill -STOP ${service.pid}`)]);
  await using again = await startService(saved, { DRAIN_SECONDS: '0' });
  expect((await clientOf(again.url, key).get('/pets')).status).toBe(200);
  expectStored(saved, stored);
});

test('the data of a store whose data file was deleted can be saved together with its other files', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  const stored = new Map<string, number>();
  {
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    const client = clientOf(service.url, key);
    for (const name of ['one', 'two']) stored.set(name, JSON.parse((await client.add(name)).text).id);
    rmSync(dataFileIn(folder));
    await untilLost(service);
    // As described in docs/troubleshooting.md.
    const saved = join(place.path, 'saved');
    mkdirSync(saved);
    for (const name of ['store.db-wal', 'store.limits']) copyFileSync(join(folder, name), join(saved, name));
    const open = `/proc/${service.pid}/fd`;
    const deleted = readdirSync(open).find((fd) =>
      readlinkSync(join(open, fd)).endsWith('/store.db (deleted)'),
    );
    copyFileSync(join(open, deleted ?? ''), join(saved, 'store.db'));
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    for (const name of readdirSync(saved)) renameSync(join(saved, name), join(folder, name));
  }
  await using again = await startService(folder, { DRAIN_SECONDS: '0' });
  expect((await clientOf(again.url, key).get('/pets')).status).toBe(200);
  expectStored(folder, stored);
});

interface Interrupted {
  readonly folder: string;
  readonly key: string;
  readonly stored: ReadonlyMap<string, number>;
}

/** Resolves when the limit file contains the number of changes, which the service records every second. */
async function untilRecorded(folder: string): Promise<void> {
  const data = new Database(dataFileIn(folder), { readonly: true, safeIntegers: true });
  const changes = readChangeCount({ data });
  data.close();
  const { limits } = resolveStoreFiles(dataFileIn(folder));
  await until(() => readRecordedChanges(limits) >= changes);
}

/** Adds an animal, and ends the service with changes in the WAL. `lose` is called before the service ends. */
async function interrupted(
  place: string,
  signal: NodeJS.Signals,
  lose: (folder: string) => void | Promise<void> = () => {},
): Promise<Interrupted> {
  const folder = await prepared(place);
  const key = await issueKey(folder, 'enterprise', ample);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  const { id } = JSON.parse((await clientOf(service.url, key).add('acknowledged')).text) as { id: number };
  await untilRecorded(folder);
  await lose(folder);
  service.signal(signal);
  await service.exited;
  expect(statSync(`${dataFileIn(folder)}-wal`).size).not.toBe(0);
  return { folder, key, stored: new Map([['acknowledged', id]]) };
}

/** Resolves when the service has recorded the state of its files, which it does every second. */
async function untilRecordedAgain(folder: string): Promise<void> {
  const { limits } = resolveStoreFiles(dataFileIn(folder));
  const since = BigInt(Date.now());
  const seenAt = () => readFileSync(limits).readBigUInt64LE(header.seenAt * 8);
  await until(() => seenAt() > since);
}

/** Expects these commands to fail with the message, and neither to create files nor to change the data file. */
async function expectRefusals(folder: string, message: RegExp, commands: readonly string[][]) {
  const found = () => [readdirSync(folder).sort(), Bun.hash(readFileSync(dataFileIn(folder)))];
  const before = found();
  for (const words of commands) {
    const { exitCode, stderr } = await finished([...program, ...words], { environment: settingsIn(folder) });
    expect([words, exitCode, stderr]).toEqual([words, 1, expect.stringMatching(message)]);
  }
  expect(found()).toEqual(before);
}

const animals = 'name,categoryId,status\nImported,1,available\n';

/** Commands that read or change a store. */
function commandsIn(place: string): string[][] {
  const file = join(place, 'animals.csv');
  writeFileSync(file, animals);
  return [
    ['keys', 'list'],
    ['keys', 'create', '--account', '1', '--name', 'till'],
    ['import', file],
    ['backup', join(place, 'made.backup')],
    [
      'copy',
      '--from',
      `sqlite:${dataFileIn(join(place, 'store'))}`,
      '--to',
      `sqlite:${join(place, 'target.db')}`,
    ],
  ];
}

const replacedBesideWal =
  /store\.db was replaced, but .+store\.db-wal still contains the latest changes .*\. If the service is still running, do not stop it: .* Otherwise, put the original data file back, or/;

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`after ${signal}, the WAL of a replaced data file is never applied to the other file`, async () => {
    await using place = await temporaryFolder();
    const other = join(place.path, 'other.db');
    let undo = () => {};
    const { folder, key, stored } = await interrupted(place.path, signal, async (lost) => {
      // Simulates a last checkpoint that was long ago.
      utimesSync(dataFileIn(lost), 1_000_000_000, 1_000_000_000);
      await untilRecordedAgain(lost);
      undo = moved(dataFileIn(lost), other);
      await untilRecordedAgain(lost);
    });
    await expectRefusals(folder, replacedBesideWal, [['serve'], ...commandsIn(place.path)]);
    undo();
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
    expectStored(folder, stored);
  });
}

test.each([
  ['at a later time', 3_600],
  ['with an earlier time, as cp -p does', -3_600],
])(
  'after kill -9, the WAL is not applied to a file that was copied over the data file %s',
  async (_, seconds) => {
    await using place = await temporaryFolder();
    const { folder, key, stored } = await interrupted(place.path, 'SIGKILL');
    const data = dataFileIn(folder);
    const { mtime } = statSync(data);
    copyFileSync(data, join(place.path, 'aside.db'));
    const overwrite = (from: string, at: number) => {
      copyFileSync(from, data);
      utimesSync(data, at, at);
    };
    overwrite(join(place.path, 'other.db'), Date.now() / 1_000 + seconds);
    await expectRefusals(folder, replacedBesideWal, [['serve'], ...commandsIn(place.path)]);
    overwrite(join(place.path, 'aside.db'), mtime.getTime() / 1_000);
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
    expectStored(folder, stored);
  },
);

/** Checkpoints part of a WAL and leaves the WAL open, like a process that exits in the middle of a checkpoint. */
function checkpointPartly(data: string): void {
  const pageBytes = 4_096;
  const before = readFileSync(data);
  // SQLite keeps the WAL, because the last connection cannot write.
  using reader = new Database(data, { readonly: true });
  reader.query('SELECT 1 FROM pets').all();
  const writer = new Database(data);
  expect(writer.query('PRAGMA wal_checkpoint').get()).toMatchObject({ busy: 0 });
  writer.close();
  const after = readFileSync(data);
  const isSaved = (page: number) =>
    !after
      .subarray((page - 1) * pageBytes, page * pageBytes)
      .equals(before.subarray((page - 1) * pageBytes, page * pageBytes));
  let saved = 2;
  while (!isSaved(saved)) saved++;
  writeFileSync(
    data,
    Buffer.concat([after.subarray(0, saved * pageBytes), before.subarray(saved * pageBytes)]),
  );
}

for (const words of [['serve'], ['keys', 'list'], ['backup', 'made.backup']]) {
  test(`after kill -9, ${words[0]} works even if another program has checkpointed part of the WAL`, async () => {
    await using place = await temporaryFolder();
    const { folder, stored } = await interrupted(place.path, 'SIGKILL');
    const data = dataFileIn(folder);
    const wal = readFileSync(`${data}-wal`);
    checkpointPartly(data);
    const later = Date.now() / 1_000 + 600;
    utimesSync(data, later, later);
    expect(readFileSync(`${data}-wal`).equals(wal)).toBe(true);
    if (words[0] !== 'serve') {
      const { exitCode, stderr } = await finished([...program, ...words], {
        environment: settingsIn(folder),
        cwd: place.path,
      });
      expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
    }
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    if (words[0] === 'serve')
      await service.logged(/another program has modified .*store\.db since the service was killed/);
    expectStored(folder, stored);
  });
}

const walOfAnother =
  /store\.db-wal contains changes, but the store .*store\.db was closed without any\. A copy/;

test.each([
  ['the service', async () => {}],
  [
    'a command',
    async (folder: string) => {
      const words = ['accounts', 'create', '--name', 'later', '--plan', 'pro'];
      expect((await finished([...program, ...words], { environment: settingsIn(folder) })).exitCode).toBe(0);
    },
  ],
])(
  'after kill -9, the WAL is not applied to a copy of the folder made after %s has ended',
  async (_, use) => {
    await using place = await temporaryFolder();
    const folder = await prepared(place.path);
    const key = await issueKey(folder, 'enterprise', ample);
    {
      await using service = await startService(folder, { DRAIN_SECONDS: '0' });
      expect((await clientOf(service.url, key).add('copied')).status).toBe(201);
      service.signal('SIGTERM');
      expect(await service.exited).toBe(0);
    }
    await use(folder);
    const cold = join(place.path, 'cold');
    cpSync(folder, cold, { recursive: true, preserveTimestamps: true });
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    expect((await clientOf(service.url, key).add('later')).status).toBe(201);
    service.signal('SIGKILL');
    await service.exited;
    cpSync(cold, folder, { recursive: true, preserveTimestamps: true });
    await expectRefusals(folder, walOfAnother, [['serve'], ...commandsIn(place.path)]);
    moved(`${dataFileIn(folder)}-wal`);
    await using again = await startService(folder, { DRAIN_SECONDS: '0' });
    const pets = await clientOf(again.url, key).get('/pets');
    expect([pets.text.includes('copied'), pets.text.includes('later')]).toEqual([true, false]);
  },
);

test('after kill -9, the WAL is not applied to a copy of a restored store', async () => {
  await using place = await temporaryFolder();
  const { folder, key } = await interrupted(place.path, 'SIGKILL');
  const environment = settingsIn(folder);
  const made = join(place.path, 'made.backup');
  const drill = join(place.path, 'drill');
  for (const words of [
    ['backup', made],
    ['restore', made, '--to', dataFileIn(drill)],
  ])
    expect(await finished([...program, ...words], { environment })).toMatchObject({ exitCode: 0 });
  {
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    expect((await clientOf(service.url, key).add('later')).status).toBe(201);
    service.signal('SIGKILL');
    await service.exited;
  }
  cpSync(drill, folder, { recursive: true, preserveTimestamps: true });
  await expectRefusals(folder, walOfAnother, [['serve'], ...commandsIn(place.path)]);
  moved(`${dataFileIn(folder)}-wal`);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  const { text } = await clientOf(service.url, key).get('/pets');
  expect([text.includes('acknowledged'), text.includes('later')]).toEqual([true, false]);
});

/**
 * Truncates the WAL by at least one byte, far enough to lose the last change. Usage records may follow that change,
 * depending on how long the service ran; they do not count as changes.
 */
function truncateWal(data: string): void {
  const { limits } = resolveStoreFiles(data);
  const copy = join(dirname(dirname(data)), 'truncated.db');
  const changes = () => {
    for (const suffix of ['', '-wal']) copyFileSync(data + suffix, copy + suffix);
    using database = new Database(copy, { safeIntegers: true });
    return readChangeCount({ data: database });
  };
  for (let size = statSync(`${data}-wal`).size - 1; ; size -= walFrameBytes) {
    truncateSync(`${data}-wal`, size);
    if (changes() < readRecordedChanges(limits)) return;
  }
}

/** A header and a page. */
const walFrameBytes = 24 + 4_096;

const lostChanges = /The store .*store\.db lacks acknowledged changes: it has \d+, but had at least \d+/;

async function expectLost(folder: string): Promise<void> {
  for (const words of [['serve'], ['keys', 'list'], ['serve']]) {
    const { exitCode, stderr } = await finished([...program, ...words], { environment: settingsIn(folder) });
    expect([words, exitCode, stderr]).toEqual([words, 1, expect.stringMatching(lostChanges)]);
  }
}

test.each<[string, (data: string) => void]>([
  ['was deleted', (data) => rmSync(`${data}-wal`)],
  [
    'and the WAL-index were deleted',
    (data) => ['-wal', '-shm'].forEach((suffix) => void rmSync(data + suffix)),
  ],
  ['was emptied', (data) => truncateSync(`${data}-wal`)],
  ['was truncated in the last change', truncateWal],
  [
    'was replaced by that of another store',
    (data) => {
      const size = statSync(`${data}-wal`).size;
      const other = new Database(join(dirname(dirname(data)), 'other.db'));
      other.run('UPDATE accounts SET name = name');
      copyFileSync(`${other.filename}-wal`, `${data}-wal`);
      truncateSync(`${data}-wal`, Math.max(size, statSync(`${data}-wal`).size));
      other.close();
    },
  ],
])('after kill -9, a store whose WAL %s is not served without its changes', async (_, lose) => {
  await using place = await temporaryFolder();
  const { folder, key, stored } = await interrupted(place.path, 'SIGKILL');
  const saved = join(place.path, 'saved');
  cpSync(folder, saved, { recursive: true, preserveTimestamps: true });
  lose(dataFileIn(folder));
  await expectLost(folder);
  copyFileSync(`${dataFileIn(saved)}-wal`, `${dataFileIn(folder)}-wal`);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
  expectStored(folder, stored);
});

test.each([
  ['operator', ['operators', 'revoke', 'anna']],
  ['account', ['accounts', 'create', '--name', 'newcomer', '--plan', 'pro']],
])(
  'after kill -9, a store whose WAL was deleted is not served, because a change to an %s would be missing',
  async (_, words) => {
    await using place = await temporaryFolder();
    const folder = await prepared(place.path);
    const run = async (...command: string[]) =>
      expect((await finished([...program, ...command], { environment: settingsIn(folder) })).exitCode).toBe(
        0,
      );
    await run('operators', 'create', 'anna', '--role', 'admin');
    {
      // The first start makes additional changes to the store.
      await using first = await startService(folder, { DRAIN_SECONDS: '0' });
      first.signal('SIGTERM');
      expect(await first.exited).toBe(0);
    }
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    await run(...words);
    await untilRecorded(folder);
    service.signal('SIGKILL');
    await service.exited;
    rmSync(`${dataFileIn(folder)}-wal`);
    await expectLost(folder);
  },
);

test('after kill -9, a store whose WAL was lost is served without the lost changes once the limit file has been moved away', async () => {
  await using place = await temporaryFolder();
  const { folder } = await interrupted(place.path, 'SIGKILL');
  moved(`${dataFileIn(folder)}-wal`);
  moved(join(folder, 'store.limits'));
  await using _service = await startService(folder, { DRAIN_SECONDS: '0' });
  expectStored(folder, new Map());
});

test('after kill -9, a store is served after another program has checkpointed and removed its WAL', async () => {
  await using place = await temporaryFolder();
  const { folder, stored } = await interrupted(place.path, 'SIGKILL');
  const other = new Database(dataFileIn(folder));
  other.run('PRAGMA journal_mode = DELETE');
  other.close();
  expect(existsSync(`${dataFileIn(folder)}-wal`)).toBe(false);
  await using _service = await startService(folder, { DRAIN_SECONDS: '0' });
  expectStored(folder, stored);
});

for (const WORKERS of ['1', '2']) {
  test.each([
    ['zeros', (wal: string) => writeFileSync(wal, Buffer.alloc(statSync(wal).size))],
    ['an older WAL', (wal: string) => copyFileSync(`${wal}.older`, wal)],
  ])(
    `with WORKERS=${WORKERS}, a stop changes no file if the WAL was overwritten with %s, and what is left can be saved`,
    async (_, overwrite) => {
      await using place = await temporaryFolder();
      const folder = await prepared(place.path);
      const key = await issueKey(folder, 'enterprise', ample);
      await using service = await startService(folder, { WORKERS, DRAIN_SECONDS: '0' });
      const client = clientOf(service.url, key);
      const wal = `${dataFileIn(folder)}-wal`;
      expect((await client.add('older')).status).toBe(201);
      copyFileSync(wal, `${wal}.older`);
      using other = new Database(dataFileIn(folder));
      other.run('PRAGMA busy_timeout = 10000');
      other.run('PRAGMA wal_checkpoint(TRUNCATE)');
      other.close();
      for (let count = 0; count < 5; count++) expect((await client.add('in the WAL')).status).toBe(201);
      overwrite(wal);
      expectUnavailable(await client.add('lost'));
      const read = () =>
        ['', '-wal'].map((suffix) => readFileSync(dataFileIn(folder) + suffix).toString('base64'));
      const before = read();
      service.signal('SIGTERM');
      await service.exited;
      expect(read()).toEqual(before);
      const environment = settingsIn(folder);
      const left = join(place.path, 'left.backup');
      expect(await finished([...program, 'backup', left], { environment })).toMatchObject({ exitCode: 0 });
      using database = new Database(left, { readonly: true });
      expect(database.query('SELECT DISTINCT name FROM pets').all()).toEqual([{ name: 'older' }]);
    },
  );
}

test.each(['1', '2'])(
  'with WORKERS=%s, neither a stop nor a rejected start changes the files if the last change in the WAL is damaged, and the earlier ones can be saved',
  async (WORKERS) => {
    await using place = await temporaryFolder();
    const folder = await prepared(place.path);
    const key = await issueKey(folder, 'enterprise', ample);
    await using service = await startService(folder, { WORKERS, DRAIN_SECONDS: '0' });
    const client = clientOf(service.url, key);
    const data = dataFileIn(folder);
    expect((await client.add('before')).status).toBe(201);
    const intact = readPageNumbers(`${data}-wal`).length;
    expect((await client.add('after')).status).toBe(201);
    await untilRecorded(folder);
    damageFrames(`${data}-wal`, (_page, index) => index >= intact);
    const before = readFileSync(data).toString('base64');
    service.signal('SIGTERM');
    await service.exited;
    expect(readFileSync(data).toString('base64')).toBe(before);
    expect(service.stderr()).toMatch(
      /store\.db-wal is damaged, so the data file does not get its changes: to save/,
    );
    const wal = readFileSync(`${data}-wal`).toString('base64');
    await expectLost(folder);
    expect(readFileSync(`${data}-wal`).toString('base64')).toBe(wal);
    expect(readFileSync(data).toString('base64')).toBe(before);
    const left = join(place.path, 'left.backup');
    await finished([...program, 'backup', left], { environment: settingsIn(folder) });
    using database = new Database(left, { readonly: true });
    expect(database.query('SELECT name FROM pets').all()).toEqual([{ name: 'before' }]);
  },
);

test('a stop saves all changes if only frames of the WAL are damaged whose pages later frames contain', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  const wal = `${dataFileIn(folder)}-wal`;
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  for (let count = 0; count < 5; count++)
    expect((await clientOf(service.url, key).add('before')).status).toBe(201);
  const pages = readPageNumbers(wal);
  expect(damageFrames(wal, (page, index) => pages.lastIndexOf(page) > index)).not.toEqual([]);
  service.signal('SIGTERM');
  await service.exited;
  expect(service.stderr()).not.toContain('damaged');
  expect(existsSync(wal)).toBe(false);
  await using again = await startService(folder, { DRAIN_SECONDS: '0' });
  const { text } = await clientOf(again.url, key).get('/pets');
  expect(JSON.parse(text)).toHaveLength(5);
});

/** The page that each frame contains. */
function readPageNumbers(wal: string): number[] {
  const bytes = readFileSync(wal);
  const count = Math.floor((bytes.length - 32) / walFrameBytes);
  return Array.from({ length: count }, (_, index) => bytes.readUInt32BE(32 + index * walFrameBytes));
}

/** Returns the indexes of the damaged frames. */
function damageFrames(wal: string, isDamaged: (page: number, index: number) => boolean): number[] {
  const pages = readPageNumbers(wal);
  const damaged = [...pages.keys()].filter((index) => isDamaged(pages[index] as number, index));
  const file = openSync(wal, 'r+');
  for (const index of damaged)
    writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, 32 + (index + 0.5) * walFrameBytes);
  closeSync(file);
  return damaged;
}

test('a store whose WAL was emptied while it was served is not served until a backup is restored', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  const environment = settingsIn(folder);
  const made = join(place.path, 'earlier.backup');
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  expect((await clientOf(service.url, key).add('before')).status).toBe(201);
  expect((await finished([...program, 'backup', made], { environment })).exitCode).toBe(0);
  await untilRecorded(folder);
  truncateSync(`${dataFileIn(folder)}-wal`);
  expectUnavailable(await clientOf(service.url, key).add('lost'));
  service.signal('SIGTERM');
  await service.exited;
  await expectLost(folder);
  expect((await finished([...program, 'restore', made, '--replace'], { environment })).exitCode).toBe(0);
  await using again = await startService(folder, { DRAIN_SECONDS: '0' });
  expect((await clientOf(again.url, key).get('/pets')).text).toContain('before');
});

test.each([
  ['in place', (from: string, to: string) => copyFileSync(from, to)],
  [
    'in place, in a copy of the folder',
    (from: string, to: string) => {
      const folder = dirname(to);
      renameSync(folder, `${folder}.original`);
      cpSync(`${folder}.original`, folder, { recursive: true, preserveTimestamps: true });
      copyFileSync(from, to);
    },
  ],
  [
    'by a rename, in a copy of the folder',
    (from: string, to: string) => {
      const folder = dirname(to);
      renameSync(folder, `${folder}.original`);
      cpSync(`${folder}.original`, folder, { recursive: true, preserveTimestamps: true });
      copyFileSync(from, `${to}.new`);
      renameSync(`${to}.new`, to);
    },
  ],
])(
  'directly after kill -9, the WAL is not applied to a backup that replaced the data file %s',
  async (_, replace) => {
    await using place = await temporaryFolder();
    const folder = await prepared(place.path);
    const key = await issueKey(folder, 'enterprise', ample);
    const made = join(place.path, 'earlier.backup');
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    expect((await finished([...program, 'backup', made], { environment: settingsIn(folder) })).exitCode).toBe(
      0,
    );
    expect((await clientOf(service.url, key).add('after')).status).toBe(201);
    await untilRecorded(folder);
    service.signal('SIGKILL');
    await service.exited;
    replace(made, dataFileIn(folder));
    const commands = commandsIn(place.path).filter(([name]) => name !== 'backup');
    await expectRefusals(folder, replacedBesideWal, [['serve'], ...commands]);
  },
);

test('after kill -9, a replaced data file is served once the WAL and the limit file have been moved away', async () => {
  await using place = await temporaryFolder();
  const { folder } = await interrupted(place.path, 'SIGKILL');
  moved(dataFileIn(folder), join(place.path, 'other.db'));
  moved(`${dataFileIn(folder)}-wal`);
  moved(join(folder, 'store.limits'));
  await using _service = await startService(folder, { DRAIN_SECONDS: '0' });
  expectStored(folder, new Map());
});

test.each([
  ['moved', (from: string, to: string) => renameSync(from, to)],
  ['copied', (from: string, to: string) => cpSync(from, to, { recursive: true })],
  [
    'replaced by its copy',
    (from: string, to: string) => {
      renameSync(from, `${from}.aside`);
      cpSync(`${from}.aside`, from, { recursive: true });
      renameSync(from, to);
    },
  ],
])('after kill -9, a folder that was %s is served with all changes', async (_, take) => {
  await using place = await temporaryFolder();
  const { folder, key, stored } = await interrupted(place.path, 'SIGKILL');
  const taken = join(place.path, 'taken');
  take(folder, taken);
  await using service = await startService(taken, { DRAIN_SECONDS: '0' });
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
  expectStored(taken, stored);
});

test('a backup is restored, and served, in place of a killed store whose data file was replaced', async () => {
  await using place = await temporaryFolder();
  const made = join(place.path, 'earlier.backup');
  const { folder } = await interrupted(place.path, 'SIGKILL');
  const environment = settingsIn(folder);
  expect((await finished([...program, 'backup', made], { environment })).exitCode).toBe(0);
  await using service = await startService(folder, { DRAIN_SECONDS: '0' });
  moved(dataFileIn(folder), join(place.path, 'other.db'));
  service.signal('SIGKILL');
  await service.exited;
  expect((await finished([...program, 'restore', made, '--replace'], { environment })).exitCode).toBe(0);
  await using _again = await startService(folder, { DRAIN_SECONDS: '0' });
  expect([...storedAnimals(dataFileIn(folder)).keys()]).toEqual(['acknowledged']);
});

test.each(losses.filter(({ named, how }) => how === 'replaced' || /-(wal|shm)$/.test(named)))(
  'commands refuse to use the files of a served store while $what',
  async ({ lose, named }) => {
    await using place = await temporaryFolder();
    const folder = await prepared(place.path);
    const key = await issueKey(folder, 'enterprise', ample);
    await using service = await startService(folder, { DRAIN_SECONDS: '0' });
    const client = clientOf(service.url, key);
    expect((await client.add('before')).status).toBe(201);
    const undo = lose(folder);
    await untilLost(service);
    const message = new RegExp(`/${named} is not the file that the running service uses`);
    await expectRefusals(folder, message, commandsIn(place.path));
    undo?.();
    await untilReady(service.url);
    expect((await client.add('after')).status).toBe(201);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    expect([...storedAnimals(dataFileIn(folder)).keys()]).toEqual(['before', 'after']);
  },
);

test('a worker that restarts while the data file is replaced never serves the other file', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  const key = await issueKey(folder, 'enterprise', ample);
  await using service = await startService(folder, { WORKERS: '2', DRAIN_SECONDS: '0', ADMIN_PORT: 'off' });
  const client = clientOf(service.url, key);
  expect((await client.add('before')).status).toBe(201);
  const undo = moved(dataFileIn(folder), join(place.path, 'other.db'));
  process.kill(childrenOf(service.pid)[0] as number, 'SIGKILL');
  await service.logged(/worker could not start[^\n]*|"msg":"worker serving"/);
  expect(service.stderr()).toMatch(
    /"reason":"[^"]*store\.db is not the file that the running service uses[^\n]*worker could not start/,
  );
  for (let request = 0; request < 20; request++) {
    expect((await client.get('/pets?limit=1')).text).toContain('before');
  }
  undo();
  await service.logged('"msg":"worker serving"');
  await untilReady(service.url);
  expect((await client.add('after')).status).toBe(201);
});

test('a worker that restarts while the limit file is missing names that file', async () => {
  await using place = await temporaryFolder();
  const folder = await prepared(place.path);
  await using service = await startService(folder, { WORKERS: '2', DRAIN_SECONDS: '0', ADMIN_PORT: 'off' });
  const limits = dataFileIn(folder).replace(/db$/, 'limits');
  const undo = moved(limits);
  process.kill(childrenOf(service.pid)[0] as number, 'SIGKILL');
  await service.logged(/"reason":"[^"]*store\.limits is not the file that the running service uses/);
  undo();
  await service.logged('"msg":"worker serving"');
  await untilReady(service.url);
});
