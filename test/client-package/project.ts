/** The client package as published to npm, and an empty project with the package installed. */
import { cp, mkdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../client/package.json' with { type: 'json' };
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

/** The package that the service serves, which `package.test.ts` compares with the output of `npm pack`. */
export const servedPackage = join(root, 'assets/client', `client-${packageJson.version}.tgz`);

interface Packed extends AsyncDisposable {
  readonly tarball: string;
  /** Paths of the files in the tarball, sorted. */
  readonly files: readonly string[];
}

/** Packs a fresh build of `client/`. */
export async function pack(): Promise<Packed> {
  await using made = new AsyncDisposableStack();
  const { path } = made.use(await temporaryFolder());
  const client = join(path, 'client');
  const isSource = (file: string) => !/\/(?:dist|node_modules)$/.test(file);
  await cp(join(root, 'client'), client, { recursive: true, filter: isSource });
  await cp(join(root, 'tsconfig.json'), join(path, 'tsconfig.json'));
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'));
  const packed = await succeed(['npm', 'pack', '--json', '--pack-destination', path], client);
  const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf('[')));
  const kept = made.move();
  return {
    tarball: join(path, filename),
    files: files.map(({ path }: { path: string }) => path).sort(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export interface Project extends AsyncDisposable {
  /** Folder with the package in `node_modules` and the programs in `src`. */
  readonly folder: string;
  /** Bundles and minifies a module of the project for browsers, and returns the code. */
  bundle(entry: string): Promise<string>;
}

/** An empty project with the package of this tarball. */
export async function newProject(tarball: string): Promise<Project> {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await temporaryFolder());
  const installed = join(folder, 'node_modules/@animal-store/client');
  await mkdir(installed, { recursive: true });
  await succeed(['tar', '-xzf', tarball, '--strip-components=1'], installed);
  await Bun.write(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  );
  await cp(programs, join(folder, 'src'), { recursive: true });
  const kept = made.move();
  return {
    folder,
    async bundle(entry) {
      const entrypoint = join(folder, 'src', entry);
      const { outputs } = await Bun.build({ entrypoints: [entrypoint], target: 'browser', minify: true });
      return (await outputs[0]?.text()) ?? '';
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
