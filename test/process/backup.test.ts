/** Backups that the command line creates while the service is running, and backups that the service creates. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileSizeLimits, onSmallDisk } from '../faults/disk.ts';
import { makeSampleStore, type SampleStore, strict } from '../support/backup.ts';
import { clientOf } from '../support/client.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import {
  dataFileIn,
  finished,
  issueKey,
  operatorOf,
  program,
  settingsIn,
  startService,
} from '../support/process.ts';
import { idOf } from '../support/replicas.ts';
import { testWith } from '../support/requirements.ts';

let sampleFolder: TemporaryFolder;
let sample: SampleStore;
beforeAll(async () => {
  sampleFolder = await temporaryFolder();
  sample = await makeSampleStore(sampleFolder.path, ['before']);
  await succeed(sampleFolder.path, 'backup', 'made.backup');
});
afterAll(() => sampleFolder[Symbol.asyncDispose]());

/** Creates a folder with a copy of the sample store and a backup of that store. */
async function sampleCopy(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  cpSync(sampleFolder.path, folder.path, { recursive: true });
  return folder;
}

/** Runs a command on the store in a folder. */
function run(folder: string, ...words: string[]) {
  return finish(folder, [...program, ...words]);
}

function finish(folder: string, command: readonly string[]) {
  return finished(command, { cwd: folder, environment: settingsIn(folder) });
}

async function succeed(folder: string, ...words: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(folder, ...words);
  if (exitCode !== 0) throw new Error(`${words.join(' ')} exited with ${exitCode}:\n${stdout}${stderr}`);
  return stdout;
}

test('a restored store contains exactly the animals, keys, counts and bans of the backup', async () => {
  await using folder = await sampleCopy();
  const { key, bannedKey } = sample;
  let remaining = 0;
  {
    await using service = await startService(folder.path, strict);
    const client = clientOf(service.url, key);
    remaining = (await client.get('/pets?limit=1')).remaining;
    await succeed(folder.path, 'backup', 'made.backup', '--replace');
    expect((await client.add('after')).status).toBe(201);
    await succeed(folder.path, 'bans', 'lift', '3');
    await succeed(folder.path, 'keys', 'revoke', '2');
  }
  // The service was killed, so the WAL contains later changes, which must not reach the restored file.
  expect(existsSync(`${dataFileIn(folder.path)}-wal`)).toBe(true);
  const said = await succeed(folder.path, 'restore', 'made.backup', '--replace');
  expect(said).toContain('Restored 1 animal, 3 accounts and 3 API keys as of ');
  expect(existsSync(`${dataFileIn(folder.path)}-wal`)).toBe(false);

  await using service = await startService(folder.path, strict);
  const client = clientOf(service.url, key);
  const reply = await client.get('/pets');
  expect(JSON.parse(reply.text)).toMatchObject([{ id: 1, name: 'before' }]);
  expect(reply.text).not.toContain('after');
  expect(reply.remaining).toBe(remaining - 1);
  expect((await clientOf(service.url, bannedKey).get('/pets')).text).toContain('banned');
  // The id of the animal that was added after the backup is not assigned again.
  const id = idOf(await client.add('after the restore'));
  expect(id).toBeGreaterThan(2);
  expect(service.stderr()).not.toContain('other users of this machine');
});

test('two restores of a backup assign different ids, and accounts created after a restore are served, even after a restart', async () => {
  await using folder = await sampleCopy();
  const ids = [];
  let key = '';
  for (let restored = 0; restored < 2; restored++) {
    await succeed(folder.path, 'restore', 'made.backup', '--replace');
    key = await issueKey(folder.path, 'pro');
    await using service = await startService(folder.path, strict);
    ids.push(idOf(await clientOf(service.url, key).add('after the restore')));
  }
  expect(new Set(ids).size).toBe(2);
  await using service = await startService(folder.path, strict);
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
});

test('a restore does not replace a store that a service or a command is using', async () => {
  await using folder = await sampleCopy();
  {
    await using service = await startService(folder.path, strict);
    const refused = await run(folder.path, 'restore', 'made.backup', '--replace');
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining('A service is using the store'),
    ]);
    const key = await issueKey(folder.path, 'pro');
    expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
  }
  await using operator = await operatorOf(folder.path);
  expect(await operator.storage.pets.find(1n)).toBeDefined();
  const refused = await run(folder.path, 'restore', 'made.backup', '--replace');
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining('Another process is using the store'),
  ]);
});

test('commands say not to stop a service whose data file was deleted, because only it still has the data', async () => {
  await using folder = await sampleCopy();
  await using service = await startService(folder.path, strict);
  // Every thread of the service has opened the file once it has added an animal.
  expect((await clientOf(service.url, sample.key).add('Rex')).status).toBe(201);
  rmSync(join(folder.path, 'store.db'));
  const restore = ['restore', 'made.backup'];
  const commands = [
    restore,
    [...restore, '--replace'],
    ['keys', 'list'],
    ['serve'],
    ['import', 'made.backup', '--format', 'csv'],
  ];
  // With only the data file missing, and with no file left but the lock.
  for (const lost of [[], ['store.db-wal', 'store.db-shm', 'store.limits']]) {
    for (const name of lost) rmSync(join(folder.path, name), { force: true });
    for (const words of commands) {
      const { exitCode, stderr } = await run(folder.path, ...words);
      const remedy = 'do not stop it: see "Lost store files" in docs/troubleshooting.md.';
      expect([words, exitCode, stderr]).toEqual([words, 1, expect.stringContaining(remedy)]);
      expect(existsSync(join(folder.path, 'store.db'))).toBe(false);
    }
  }
});

test('the service creates a backup when the latest is older than the interval, and deletes only old backups', async () => {
  await using folder = await sampleCopy();
  const { key } = sample;
  const backups = join(folder.path, 'backups');
  mkdirSync(backups);
  const old = ['2020-01-01T000000Z', '2020-01-02T000000Z', '2020-01-03T000000Z'].map(
    (at) => `store-${at}.backup`,
  );
  const others = [
    'store-2020-01-01T000000Z.txt',
    'other-2020-01-01T000000Z.backup',
    'store-2020-01-04T000000Z.backup',
  ];
  for (const name of [...old, ...others.slice(0, 2)])
    copyFileSync(join(folder.path, 'made.backup'), join(backups, name));
  // A name alone does not make a file a backup.
  writeFileSync(join(backups, 'store-2020-01-04T000000Z.backup'), 'a letter');
  const settings = { ...strict, BACKUP_FOLDER: backups, BACKUP_EVERY: '365d', BACKUP_KEEP: '2' };
  const made = () =>
    readdirSync(backups).filter((name) => name.endsWith('.backup') && !/-2020-|^other/.test(name));
  {
    await using service = await startService(folder.path, settings);
    await service.logged('backup made');
    expect(readdirSync(backups).sort()).toEqual([...others, old[2] as string, ...made()].sort());
    expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
  }
  await succeed(folder.path, 'backup', 'verify', join(backups, made()[0] as string));
});

test.skipIf(process.platform !== 'linux')(
  'a backup by the service keeps its lock on the data file, so that other programs do not delete the WAL in use',
  async () => {
    await using folder = await sampleCopy();
    const settings = { ...strict, BACKUP_FOLDER: join(folder.path, 'backups'), BACKUP_EVERY: '365d' };
    await using service = await startService(folder.path, settings);
    await service.logged('backup made');
    const { ino } = statSync(dataFileIn(folder.path));
    expect(readFileSync('/proc/locks', 'utf8')).toMatch(new RegExp(` READ +${service.pid} \\S+:${ino} `));
  },
);

test('several workers create a single backup', async () => {
  await using folder = await sampleCopy();
  const backups = join(folder.path, 'backups');
  const settings = { ...strict, BACKUP_FOLDER: backups, BACKUP_EVERY: '365d', WORKERS: '2' };
  await using service = await startService(folder.path, settings);
  await service.logged('backup made');
  expect(readdirSync(backups)).toHaveLength(1);
});

test('a failed backup is logged and retried until it succeeds', async () => {
  await using folder = await sampleCopy();
  const obstacle = join(folder.path, 'file');
  writeFileSync(obstacle, 'in the way');
  const settings = { ...strict, BACKUP_FOLDER: join(obstacle, 'backups'), BACKUP_EVERY: '2s' };
  await using service = await startService(folder.path, settings);
  await service.logged('backup failed; trying again');
  await Bun.file(obstacle).delete();
  await service.logged('backup made');
});

testWith(...fileSizeLimits)('a backup on a full disk leaves no file, and prints the reason', async () => {
  await using folder = await sampleCopy();
  for (const bytes of [0, 5_000, 100_000]) {
    const limited = ['prlimit', `--fsize=${bytes}:`, ...program, 'backup', 'new.backup'];
    const { exitCode, stderr } = await finish(folder.path, limited);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Could not create the backup')]);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('new'))).toEqual([]);
  }
});

testWith(
  { name: 'permission to create mounts (user namespaces)', package: 'util-linux', optional: true },
  onSmallDisk(tmpdir(), 'rw', ['true']),
)('a backup prints the required disk space before it starts if there is not enough', async () => {
  await using folder = await sampleCopy();
  // This rate-limit file makes the store too large for the disk.
  await Bun.write(join(folder.path, 'store.limits'), new Uint8Array(8_000_000));
  const small = join(folder.path, 'small');
  mkdirSync(small);
  const { exitCode, stderr } = await finish(
    folder.path,
    onSmallDisk(small, 'rw', [...program, 'backup', 'small/made.backup']),
  );
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/Not enough space .*: about \d+ MiB needed, 4 MiB free/),
  ]);
});
