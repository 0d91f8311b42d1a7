/** Commands that root runs in the folder of another user leave no file that this user cannot open. */
import { expect } from 'bun:test';
import { chownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine } from '../support/command.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { dataFileIn, finished, settingsIn, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

/** The user `nobody` on Debian. */
const user = 65_534;
const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];

const testAsRoot = testWith(
  {
    name: 'user root that can run the program as another user',
    package: 'util-linux',
    optional: true,
  },
  ['sh', '-c', '[ "$(id -u)" = 0 ] && exec "$@"', 'sh', ...asUser, ...commandLine, '--version'],
);

/** A folder in which the user has a store. */
async function folderOfUser(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  chownSync(folder.path, user, user);
  await Bun.write(join(folder.path, 'pets.csv'), 'name,categoryId\nOzzy,1\n,1\n');
  chownSync(join(folder.path, 'pets.csv'), user, user);
  await runIn(folder.path, ['import', 'pets.csv'], asUser);
  return folder;
}

async function runIn(folder: string, args: readonly string[], as: readonly string[] = []): Promise<void> {
  const { exitCode, stdout, stderr } = await finished([...as, ...commandLine, ...args], {
    cwd: folder,
    environment: settingsIn(folder),
  });
  if (exitCode !== 0) throw new Error(`${args.join(' ')} exited with ${exitCode}: ${stdout}${stderr}`);
}

/** Files and folders that belong to another user. */
function foreignIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true }) as string[];
  return names.filter((name) => {
    const { uid, gid } = lstatSync(join(folder, name));
    return uid !== user || gid !== user;
  });
}

testAsRoot(
  'backups, restores, exports and all other files that root creates belong to the owner of the folder',
  async () => {
    await using folder = await folderOfUser();
    for (const args of [
      ['status'],
      ['backup', 'one.backup'],
      ['backup', 'one.backup', '--replace'],
      ['restore', 'one.backup', '--replace'],
      ['restore', 'one.backup', '--to', 'drill/of/today/store.db'],
      ['export', 'out.csv'],
      ['audit', 'export', 'audit.ndjson'],
      ['import', 'pets.csv', '--again', '--rejects', 'rejects.csv'],
      ['copy', '--from', `sqlite:${dataFileIn(folder.path)}`, '--to', 'sqlite:copied/store.db'],
    ]) {
      await runIn(folder.path, args);
      expect({ args, foreign: foreignIn(folder.path) }).toEqual({ args, foreign: [] });
    }
    for (const args of [
      ['status'],
      ['backup', 'one.backup', '--replace'],
      ['restore', 'one.backup', '--replace'],
    ]) {
      await runIn(folder.path, args, asUser);
    }
  },
);

testAsRoot(
  'a service that root started and that was killed leaves no file that the service cannot open',
  async () => {
    await using folder = await temporaryFolder();
    chownSync(folder.path, user, user);
    await using service = await startService(folder.path);
    expect(service.firstKey).toBeString();
    service.signal('SIGKILL');
    await service.exited;
    expect(readdirSync(folder.path)).toContain('store.db-wal');
    expect(foreignIn(folder.path)).toEqual([]);
    await runIn(folder.path, ['keys', 'list'], asUser);
  },
);

testAsRoot(
  'a restored store has the owner and the permissions of the replaced one, even in a folder owned by root',
  async () => {
    await using folder = await folderOfUser();
    await runIn(folder.path, ['backup', 'one.backup']);
    chownSync(folder.path, 0, 0);
    const before = lstatSync(dataFileIn(folder.path));
    await runIn(folder.path, ['restore', 'one.backup', '--replace']);
    const { uid, gid, mode } = lstatSync(dataFileIn(folder.path));
    expect([uid, gid, mode]).toEqual([before.uid, before.gid, before.mode]);
  },
);
