import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { testTimeoutMs } from './wait.ts';

/**
 * Whether the packages of a folder with a lock file of its own are here; they are installed once, by the first who needs
 * them. A test that runs their code starts a process for it: its own has looked for them before, and does not look again.
 */
export async function packagesInstalled(folder: string, what: string): Promise<boolean> {
  const areHere = () => existsSync(join(folder, 'node_modules/.package-lock.json'));
  // A checkout that belongs to somebody else has no place for the lock, and needs none once they are there.
  if (areHere()) return true;
  using lock = new Database(join(folder, 'installing.lock'));
  lock.run(`PRAGMA busy_timeout = ${testTimeoutMs}`);
  lock.run('BEGIN EXCLUSIVE');
  if (areHere()) return true;
  // npm keeps its cache below HOME, which some users have not.
  await using home = await temporaryFolder();
  const env = { ...process.env, HOME: process.env.HOME ?? home.path };
  const child = Bun.spawn(['npm', 'ci'], {
    cwd: folder,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (exitCode === 0) return true;
  if (process.env.CI === 'true') throw new Error(`${what} cannot be installed.\n${output}${errors}`);
  console.warn(`SKIPPED: ${what} cannot be installed here, so the tests that need them do not run.`);
  return false;
}
