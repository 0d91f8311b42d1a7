/** The client package as published to npm, and an empty project with the package installed. */
import { cp, mkdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { packagesInstalled } from '../support/packages.ts';
import { finished, root } from '../support/process.ts';

export const tests = import.meta.dir;
export const programs = join(tests, 'programs');
/** Package linters, compilers and a second Node.js, installed from a separate lock file. */
export const tools = join(tests, 'node_modules');

/** Runs a command that inherits only PATH from the environment. Prints the output of a failed command. */
export async function run(command: readonly string[], cwd: string) {
  const environment = {
    HOME: tmpdir(),
    npm_config_cache: join(cwd, '.npm'),
    npm_config_update_notifier: 'false',
  };
  const { exitCode, stdout, stderr } = await finished(command, { cwd, environment });
  return { exitCode, output: stdout + (exitCode === 0 ? '' : stderr) };
}

async function succeed(command: readonly string[], cwd: string): Promise<string> {
  const { exitCode, output } = await run(command, cwd);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}:\n${output}`);
  return output;
}

export const toolsInstalled = () => packagesInstalled(tests, 'The tools that check the client package');

export interface Project extends AsyncDisposable {
  /** Folder with the package in `node_modules` and the programs in `src`. */
  readonly folder: string;
  readonly tarball: string;
  /** Paths of the files in the tarball, sorted. */
  readonly files: readonly string[];
  /** Bundles and minifies a module of the project for browsers, and returns the code. */
  bundle(entry: string): Promise<string>;
}

/** Packs a fresh build of `client/`, and installs it without a registry. */
export async function newProject(): Promise<Project> {
  await using made = new AsyncDisposableStack();
  const { path } = made.use(await temporaryFolder());
  const checkout = join(path, 'checkout');
  const folder = join(path, 'project');
  await mkdir(join(folder, 'src'), { recursive: true });
  const isSource = (file: string) => !/\/(?:dist|node_modules)$/.test(file);
  await cp(join(root, 'client'), join(checkout, 'client'), { recursive: true, filter: isSource });
  await cp(join(root, 'tsconfig.json'), join(checkout, 'tsconfig.json'));
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const packed = await succeed(
    ['npm', 'pack', '--json', '--pack-destination', path],
    join(checkout, 'client'),
  );
  const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf('[')));
  const tarball = join(path, filename);
  await Bun.write(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  );
  await succeed(['npm', 'install', '--offline', tarball], folder);
  await cp(programs, join(folder, 'src'), { recursive: true });
  const kept = made.move();
  return {
    folder,
    tarball,
    files: files.map(({ path }: { path: string }) => path).sort(),
    async bundle(entry) {
      const entrypoint = join(folder, 'src', entry);
      const { outputs } = await Bun.build({ entrypoints: [entrypoint], target: 'browser', minify: true });
      return (await outputs[0]?.text()) ?? '';
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
