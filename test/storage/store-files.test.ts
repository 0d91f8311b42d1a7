/** Files of an embedded store: owners, names, and invalid files. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openCopyStores, openStore } from '../../src/app/store.ts';
import { expectServedFiles, isMarkedClosed } from '../../src/limits/file/served-files.ts';
import type { Store } from '../../src/operations/units.ts';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { isStoreFile, prepareStoreFiles } from '../../src/store-files/files.ts';
import { tryLock } from '../../src/store-files/serving-lock.ts';
import { FakeClock } from '../support/clock.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { migrationsWith, openLater } from './old-store.ts';
import { strictRules } from './place.ts';
import { callerWith } from './samples.ts';
import { digests } from './sqlite-files.ts';

let folder: TemporaryFolder;
let notices: string[];
beforeEach(async () => {
  folder = await temporaryFolder();
  notices = [];
});
afterEach(() => folder[Symbol.asyncDispose]());

const audited = {
  actor: 'operator:1',
  operation: 'createBackup',
  object: 'backup:x',
  before: null,
  after: null,
  at: 1,
};
const pathOf = (name: string) => join(folder.path, name);
const modeOf = (name: string) => (statSync(pathOf(name)).mode & 0o777).toString(8);

function open(name: string, isServing = true): Promise<Store> {
  return openStore({
    url: `sqlite:${pathOf(name)}`,
    clock: new FakeClock(),
    rules: strictRules,
    isServing,
    notice: (text) => notices.push(text),
  });
}

async function remaining({ limits }: Store): Promise<number | undefined> {
  return (await limits.take(callerWith(), (await limits.versions()).callers)).verdict?.minute.remaining;
}

describe('a missing store', () => {
  test('is also reported for an empty file', async () => {
    writeFileSync(pathOf('store.db'), '');
    const before = digests(folder.path);
    await expect(open('store.db', false)).rejects.toThrow('No store found at ');
    expect(digests(folder.path)).toEqual(before);
    await using store = await open('store.db');
    expect(store.created).toBe(false);
  });

  test('is identified in the error if it is the target of a symbolic link', async () => {
    symlinkSync(pathOf('gone.db'), pathOf('store.db'));
    await expect(open('store.db')).rejects.toThrow(
      `Cannot open the data file ${pathOf('store.db')}: it is a link to ${pathOf('gone.db')}, which does not exist.`,
    );
  });
});

describe('file permissions', () => {
  test('are 0600 for the files and 0700 for the folder of a new store', async () => {
    await using store = await open('data/store.db');
    await remaining(store);
    expect(modeOf('data')).toBe('700');
    const modes = readdirSync(pathOf('data')).map((name) => [name, modeOf(`data/${name}`)]);
    expect(Object.fromEntries(modes)).toEqual({
      'store.db': '600',
      'store.db-wal': '600',
      'store.db-shm': '600',
      'store.db.serving': '600',
      'store.limits': '600',
    });
    expect(notices).toEqual([]);
  });

  test('are reported with a remedy if they grant access to other users', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    chmodSync(pathOf('store.db'), 0o644);
    chmodSync(pathOf('store.limits'), 0o640);
    await using _store = await open('store.db');
    expect(notices.length).toBe(1);
    expect(notices[0]).toStartWith('other users of this machine can access the store: ');
    for (const file of ['store.db (0644)', 'store.db-wal (0644)', 'store.limits (0640)']) {
      expect(notices[0]).toContain(pathOf(file));
    }
    expect(notices[0]).not.toContain('serving');
    expect(notices[0]).toEndWith('; run chmod go= on these files to prevent it');
    expect(modeOf('store.db')).toBe('644');
  });
});

describe('files are not reported as replaced', () => {
  const files = () => prepareStoreFiles(pathOf('store.db'), false);

  test('while a process locks the store after a service has ended', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    using _lock = tryLock(files(), 0);
    await using command = await open('store.db', false);
    expect((await command.pets.inventory()).available).toBe(0);
  });

  test('during a migration after a service was killed', async () => {
    const served = await open('store.db');
    const record = readFileSync(pathOf('store.limits'));
    await served[Symbol.asyncDispose]();
    // A killed service leaves its record. A command that ran since then has removed the WAL.
    writeFileSync(pathOf('store.limits'), record);
    let seen: unknown;
    const look = () => {
      try {
        seen = expectServedFiles(files(), 'beside', () => false);
      } catch (error) {
        seen = error;
      }
    };
    await using _migrating = openLater(pathOf('store.db'), false, true, migrationsWith(look));
    expect(seen).toBeUndefined();
  });
});

describe('a WAL', () => {
  const state = () => isMarkedClosed(pathOf('store.limits'));

  test.each(['a command', 'a service'])('is expected after %s was killed', async (who) => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    mkdirSync(pathOf('killed'));
    {
      await using store = await open('store.db', who === 'a service');
      expect(state()).toBe(false);
      await store.write('recordAudit', audited);
      for (const name of ['store.db', 'store.db-wal', 'store.limits']) {
        copyFileSync(pathOf(name), pathOf(`killed/${name}`));
      }
      expect(statSync(pathOf('killed/store.db-wal')).size).toBeGreaterThan(0);
    }
    expect(state()).toBe(true);
    await using killed = await open('killed/store.db');
    expect((await killed.audit.list(undefined, 10, {})).map(({ object }) => object)).toEqual(['backup:x']);
  });

  test('is not expected after the last of several commands has closed the store', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    const first = await open('store.db', false);
    const second = await open('store.db', false);
    await first[Symbol.asyncDispose]();
    expect(state()).toBe(false);
    await second.write('recordAudit', audited);
    await second[Symbol.asyncDispose]();
    expect(state()).toBe(true);
  });

  test('is expected if a command uses the store longer than the service', async () => {
    const service = await open('store.db');
    const command = await open('store.db', false);
    await service[Symbol.asyncDispose]();
    expect(state()).toBe(false);
    await command[Symbol.asyncDispose]();
    expect(state()).toBe(true);
  });

  test('is not expected after the store was copied', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    {
      await using _copy = await openCopyStores(
        `sqlite:${pathOf('store.db')}`,
        `sqlite:${pathOf('target.db')}`,
      );
      expect(state()).toBe(false);
    }
    expect(state()).toBe(true);
  });
});

describe('the lock file', () => {
  test.each([
    ['a folder', () => mkdirSync(pathOf('store.db.serving')), /it is a directory\. Move it away/],
    [
      'not empty',
      () => writeFileSync(pathOf('store.db.serving'), 'mine'),
      /the file is not empty\. Move it away/,
    ],
  ])(
    'that is %s causes an error that names the file, instead of an error about another process',
    async (_, spoil, reason) => {
      await (await open('store.db'))[Symbol.asyncDispose]();
      await Bun.file(pathOf('store.db.serving')).delete();
      spoil();
      await expect(open('store.db')).rejects.toThrow(reason);
      await expect(open('store.db')).rejects.toThrow(
        `Cannot lock the store with ${pathOf('store.db.serving')}: `,
      );
    },
  );

  test('is shared by all symbolic links to the store, as are the counts', async () => {
    {
      await using store = await open('store.db');
      expect(await remaining(store)).toBe(59);
      mkdirSync(pathOf('elsewhere'));
      symlinkSync(pathOf('store.db'), pathOf('elsewhere/link.db'));
      await expect(open('elsewhere/link.db')).rejects.toThrow(/^Another process is serving the store /);
    }
    await using store = await open('elsewhere/link.db');
    expect(await remaining(store)).toBe(58);
    expect(readdirSync(pathOf('elsewhere'))).toEqual(['link.db']);
  });

  test('cannot protect a data file with several hard links, so such a file is rejected', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    linkSync(pathOf('store.db'), pathOf('other.db'));
    const before = digests(folder.path);
    for (const name of ['store.db', 'other.db']) {
      await expect(open(name)).rejects.toThrow(/has 2 hard links/);
      await expect(open(name, false)).rejects.toThrow(StoreUnusableError);
    }
    expect(digests(folder.path)).toEqual(before);
  });
});

describe('the limit state file', () => {
  test('belongs to one store, so "store" and "store.db" in the same folder keep separate counts', async () => {
    await using one = await open('store.db');
    await using other = await open('store');
    expect(await remaining(one)).toBe(59);
    expect(await remaining(one)).toBe(58);
    expect(await remaining(other)).toBe(59);
  });

  test('cannot be served as a store', async () => {
    await (await open('store.db'))[Symbol.asyncDispose]();
    const before = digests(folder.path);
    await expect(open('store.limits')).rejects.toThrow(/Cannot open the data file .*file is not a database/);
    expect(digests(folder.path)).toEqual(before);
  });
});

test('the files of a store, and no other files, are recognized under any name', async () => {
  await using _store = await open('store.db');
  symlinkSync(pathOf('store.db'), pathOf('pets.csv'));
  writeFileSync(pathOf('real.csv'), 'name,categoryId\n');
  writeFileSync(pathOf('short'), 'SQLite');
  const stores = readdirSync(folder.path).filter((name) => isStoreFile(pathOf(name)));
  expect(stores.sort()).toEqual([
    'pets.csv',
    'store.db',
    'store.db-shm',
    'store.db-wal',
    'store.db.serving',
    'store.limits',
  ]);
  expect(isStoreFile(pathOf('store.db-journal'))).toBe(true);
  expect(isStoreFile(pathOf('nowhere/missing.csv'))).toBe(false);
});

test('if a command cannot open the limit state file, the error names the file', async () => {
  await (await open('store.db'))[Symbol.asyncDispose]();
  rmSync(pathOf('store.limits'));
  mkdirSync(pathOf('store.limits'));
  await using beside = await open('store.db', false);
  expect(() => beside.limits.bans()).toThrow(
    `Cannot open the limit state ${pathOf('store.limits')}: EISDIR: illegal operation on a directory`,
  );
});
