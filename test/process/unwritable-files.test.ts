/** If a command or the service cannot write to the files of a store, the message names the file, the cause and the remedy. */
import { expect } from 'bun:test';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine } from '../support/command.ts';
import { temporaryFolder } from '../support/folder.ts';
import { finished, settingsIn } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

/** The id of a user without privileges. */
const user = 65_534;
const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
/** Runs a command while the folder in `$0` is a read-only file system. */
const readOnly = (folder: string) => [
  ...['unshare', '--mount', 'sh', '-c'],
  'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"',
  folder,
];

const testAsRoot = testWith(
  {
    name: 'user root that can run the program as another user and mount file systems',
    package: 'util-linux',
    optional: true,
  },
  [
    'sh',
    '-c',
    '[ "$(id -u)" = 0 ] && exec "$@"',
    'sh',
    ...readOnly('/usr'),
    ...asUser,
    ...commandLine,
    '--version',
  ],
);

const commands = [
  ['serve'],
  ['status'],
  ['keys', 'list'],
  ['backup', 'to.backup'],
  ['backup', 'verify', 'store.db'],
];

interface Situation {
  /** The user that runs the commands. */
  readonly as: readonly string[];
  readonly isReadOnly?: true;
  /** Changes the folder of a store that belongs to the user. */
  readonly change: (folder: string) => void;
  /** Commands that do not need to write. */
  readonly working?: readonly string[];
  readonly expected: (folder: string) => string;
}

const situations: Record<string, Situation> = {
  'root, with a read-only file system': {
    as: [],
    isReadOnly: true,
    change: () => undefined,
    expected: () => 'is on a read-only file system: mount it with write access',
  },
  'the owner, with a read-only file system': {
    as: asUser,
    isReadOnly: true,
    change: () => undefined,
    expected: () => 'is on a read-only file system: mount it with write access',
  },
  'a user, with a folder of root': {
    as: asUser,
    change: (folder) => {
      chownSync(folder, 0, 0);
      chmodSync(folder, 0o755);
    },
    expected: (folder) =>
      `has no permission to read and write ${folder} (its owner has the user id 0, and its mode is 0755): run the command as`,
  },
  'a user, with a data file of root': {
    as: asUser,
    change: (folder) => chownSync(join(folder, 'store.db'), 0, 0),
    expected: (folder) =>
      `has no permission to read and write ${join(folder, 'store.db')} (its owner has the user id 0, and its mode is 0600): run`,
  },
  'a user, with a limit state of root': {
    as: asUser,
    change: (folder) => writeFileSync(join(folder, 'store.limits'), '', { mode: 0o600 }),
    expected: (folder) =>
      `has no permission to read and write ${join(folder, 'store.limits')} (its owner has the user id 0, and its mode is 0600): run`,
    working: ['status', 'backup verify store.db'],
  },
};

for (const [name, { as, isReadOnly, change, working = [], expected }] of Object.entries(situations)) {
  testAsRoot(`names the file, the cause and the remedy to ${name}`, async () => {
    await using folder = await temporaryFolder();
    chownSync(folder.path, user, user);
    const run = (args: readonly string[], before: readonly string[]) =>
      finished([...before, ...commandLine, ...args], {
        cwd: folder.path,
        environment: { ...settingsIn(folder.path), PORT: '0' },
      });
    await Bun.write(join(folder.path, 'pets.csv'), 'name,categoryId\nOzzy,1\n');
    expect((await run(['import', 'pets.csv'], asUser)).exitCode).toBe(0);
    expect((await run(['keys', 'list'], asUser)).exitCode).toBe(0);
    change(folder.path);
    const before = isReadOnly === true ? [...readOnly(folder.path), ...as] : as;
    for (const args of commands) {
      const { exitCode, stdout, stderr } = await run(args, before);
      if (working.includes(args.join(' '))) expect(exitCode).toBe(0);
      else
        expect({ args, exitCode, output: stdout + stderr }).toEqual({
          args,
          exitCode: 1,
          output: expect.stringContaining(expected(folder.path)),
        });
    }
  });
}
