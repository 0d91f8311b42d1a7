import { fstatSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { inheritOwner, isStoreFile, partialName, removeLeftovers } from '../../app/app.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { CommandError, printLine, writeError, writeOutput } from '../terminal.ts';

interface Output extends AsyncDisposable {
  readonly name: string;
  /** Whether progress can be shown on the terminal. False if the output itself goes to the terminal. */
  readonly leavesTerminalFree: boolean;
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  /** Prints the result to standard output or, if the output itself goes there, to standard error. */
  report(line: string): void;
}

export function openStandardOutput(): Output {
  return {
    name: 'standard output',
    // If standard output is a pipe, the program that reads it may write to the same terminal.
    leavesTerminalFree: process.stderr.isTTY === true && fstatSync(process.stdout.fd).isFile(),
    // Control characters are escaped only for a terminal. Files and pipes receive the exact text.
    write: (text) => writeOutput(process.stdout.isTTY === true ? escapeUnprintable(text, '\n') : text),
    finish: async () => {},
    report: (line) => process.stderr.write(`${line}\n`),
    [Symbol.asyncDispose]: async () => {},
  };
}

/**
 * Writes to a temporary file, then renames it, so that the named file is always complete. Throws `CommandError`
 * if an existing file must not be replaced.
 */
export async function openFileOutput(path: string, force: boolean): Promise<Output> {
  const { target, mode } = await resolveTarget(path, force);
  const partial = partialName(target);
  const attempt = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(writeError(path, error)));
  removeLeftovers(dirname(target), (name) => name === basename(target));
  const file = await attempt(open(partial, 'wx', mode));
  await attempt(
    stat(mode === undefined ? dirname(target) : target).then((owner) => inheritOwner(file.fd, owner)),
  );
  // Ignores the umask, so that a replaced file keeps its mode.
  if (mode !== undefined) await attempt(file.chmod(mode));
  let isFinished = false;
  return {
    name: escapeUnprintable(path),
    leavesTerminalFree: process.stderr.isTTY === true,
    write: (text) => attempt(file.writeFile(text)),
    finish: async () => {
      await attempt(file.sync());
      // Repeats the check, because a store with this name may have been created in the meantime.
      expectNoStoreFile(path);
      await attempt(rename(partial, target));
      isFinished = true;
    },
    report: printLine,
    [Symbol.asyncDispose]: async () => {
      await file.close();
      if (!isFinished) await rm(partial, { force: true });
    },
  };
}

/** Throws `CommandError` for a file that belongs to a store, even with `--force`. */
export function expectNoStoreFile(path: string): void {
  if (!isStoreFile(path)) return;
  throw new CommandError(
    `${path} is a database or belongs to a store, and is never overwritten. Choose another file.`,
    2,
  );
}

interface Target {
  readonly target: string;
  readonly mode?: number;
}

async function resolveTarget(path: string, force: boolean): Promise<Target> {
  expectNoStoreFile(path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { target: path };
  if (!found.isFile())
    throw new CommandError(`${path} is not a regular file. To write to standard output, use "-".`);
  if (!force)
    throw new CommandError(`${path} already exists. Use --force to replace it, or choose another file.`);
  // A symbolic link is kept; the file it points to is replaced.
  return { target: await realpath(path), mode: found.mode & 0o777 };
}
