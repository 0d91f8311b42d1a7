/** A root folder like the container image's: only the executable, the C library, /proc and /dev. */
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findProgram } from '../support/server-process.ts';

/** Arguments for `testWith` that skip a test where private mounts are not permitted. */
export const bareRoots = [
  { name: 'permission to create private mounts (user namespaces)', package: 'util-linux', optional: true },
  ['unshare', '--map-root-user', '--mount', 'true'],
] as const;

/** The only folder to which the service can write. */
export const dataFolder = '/data';

/** Creates the root in an empty folder. Returns the command that runs the program in this root. */
export async function bareRoot(
  folder: string,
  program: string,
): Promise<(words: readonly string[]) => string[]> {
  for (const library of librariesOf(program)) {
    const path = join(folder, library);
    await mkdir(dirname(path), { recursive: true });
    await copyFile(library, path);
  }
  for (const empty of ['proc', 'dev', dataFolder]) await mkdir(join(folder, empty));
  await Bun.write(join(folder, 'animal-store'), '');
  const script = [
    'mount --bind "$0" "$0"',
    'mount --bind "$1" "$0/animal-store"',
    'mount --rbind /proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    `mount -t tmpfs data "$0${dataFolder}"`,
    'mount -o remount,bind,ro "$0"',
    'chroot=$2',
    'shift 2',
    'exec "$chroot" "$0" /animal-store "$@"',
  ].join(' && ');
  const chroot = findProgram('chroot') ?? 'chroot';
  return (words) => [
    'unshare',
    '--map-root-user',
    '--mount',
    'sh',
    '-c',
    script,
    folder,
    program,
    chroot,
    ...words,
  ];
}

/** Paths of the program's shared libraries, including the loader. */
function librariesOf(program: string): string[] {
  const { stdout } = Bun.spawnSync(['ldd', program]);
  return [...stdout.toString().matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path);
}
