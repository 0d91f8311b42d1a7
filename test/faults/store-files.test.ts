/** Files of an embedded store that are deleted or replaced while the service uses them. */
import { expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { troubles } from '../../src/domain/trouble.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  dataFileIn,
  finished,
  issueKey,
  makeStore,
  type Service,
  serveCommand,
  settingsIn,
  startService,
} from '../support/process.ts';
import { untilReady } from '../support/ready.ts';
import { until } from '../support/wait.ts';
import { expectStored, expectUnavailable } from './disk.ts';

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
        new RegExp(`degraded: animal storage unavailable: [^"]*/${named} was ${how} while`),
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

const refusal =
  / (is missing|is empty), but other files of its store exist: .*\. Put the data file back, or restore a backup/;

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
  const program = serveCommand.slice(0, -1);
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
  // As described in docs/operating.md.
  const saved = join(place.path, 'saved');
  mkdirSync(saved);
  const open = `/proc/${service.pid}/fd`;
  for (const fd of readdirSync(open)) {
    const name = /\/(store\.(?:db|db-wal|limits)) \(deleted\)$/.exec(readlinkSync(join(open, fd)))?.[1];
    if (name !== undefined && !existsSync(join(saved, name))) copyFileSync(join(open, fd), join(saved, name));
  }
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  await using again = await startService(saved, { DRAIN_SECONDS: '0' });
  expect((await clientOf(again.url, key).get('/pets')).status).toBe(200);
  expectStored(saved, stored);
});
