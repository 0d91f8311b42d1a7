/**
 * Data files of a new PostgreSQL server. Creating them takes longer than most tests, so all servers of a test run get
 * copies.
 */
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from './folder.ts';
import { asServerUser, findProgram, serverUser } from './server-process.ts';

/** Environment variable with the folder of template files. If it is not set, the files are created for every server. */
export const templateVariable = 'TEST_POSTGRES_TEMPLATE';

/** Creates the template files. Returns undefined if PostgreSQL is not installed. */
export async function postgresTemplate(): Promise<TemporaryFolder | undefined> {
  const initdb = findProgram('initdb');
  if (initdb === undefined) return undefined;
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const user = serverUser();
  if (user !== undefined) await chown(folder.path, user, user);
  const path = join(folder.path, 'data');
  await initialise(initdb, path);
  const kept = made.move();
  return { path, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Creates a server's data folder. */
export async function makeData(initdb: string, data: string): Promise<void> {
  const template = process.env[templateVariable];
  if (template === undefined) await initialise(initdb, data);
  else await run(['cp', '-Rp', template, data]);
}

function initialise(initdb: string, data: string): Promise<void> {
  const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale', '--no-sync'];
  return run([initdb, ...options, '-D', data]);
}

/** Runs a command as the user that runs the servers. */
export async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn(asServerUser(command), { cwd: '/', stdout: 'ignore', stderr: 'pipe' });
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${await child.stderr.text()}`);
}
