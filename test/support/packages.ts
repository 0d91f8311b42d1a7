import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { testTimeoutMs } from './wait.ts';

/**
 * Installs the packages of a folder with a separate package-lock.json, unless they are installed. Returns false if this
 * fails. Use the packages in a new process, because this process may have cached that they are missing.
 */
export async function packagesInstalled(folder: string, what: string): Promise<boolean> {
  const areHere = () => existsSync(join(folder, 'node_modules/.package-lock.json'));
  // Checked before locking, because installing.lock cannot be written in another user's checkout.
  if (areHere()) return true;
  using lock = new Database(join(folder, 'installing.lock'));
  lock.run(`PRAGMA busy_timeout = ${testTimeoutMs}`);
  lock.run('BEGIN EXCLUSIVE');
  if (areHere()) return true;
  // npm keeps its cache under HOME, which is not set for some users.
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
  console.warn(`SKIPPED: ${what} cannot be installed here, so tests that need them are skipped.`);
  return false;
}
