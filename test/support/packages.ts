import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { testTimeoutMs } from './wait.ts';

/**
 * Checks whether the packages of a folder with a separate lock file are installed, and installs them on first use. Tests must run
 * code of these packages in a new process, because this one has already cached that they are missing.
 */
export async function packagesInstalled(folder: string, what: string): Promise<boolean> {
  const areHere = () => existsSync(join(folder, 'node_modules/.package-lock.json'));
  // The lock file cannot be written in a checkout of another user, but is not needed if the packages are installed.
  if (areHere()) return true;
  using lock = new Database(join(folder, 'installing.lock'));
  lock.run(`PRAGMA busy_timeout = ${testTimeoutMs}`);
  lock.run('BEGIN EXCLUSIVE');
  if (areHere()) return true;
  // npm has its cache below HOME, which some users lack.
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
