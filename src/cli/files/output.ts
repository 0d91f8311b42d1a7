import { fstatSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { isStoreFile } from '../../app/app.ts';
import { printable } from '../../domain/printable.ts';
import { CommandError, cannotWrite, say, written } from '../terminal.ts';

export interface Output extends AsyncDisposable {
  readonly name: string;
  /** Whether a terminal shows nothing of what is written, so that progress can be shown. */
  readonly leavesTerminalFree: boolean;
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  /** Says how it went, where it does not mix with what was written. */
  report(line: string): void;
}

export function standardOutput(): Output {
  return {
    name: 'standard output',
    // The program that reads a pipe may write to the same terminal.
    leavesTerminalFree: process.stderr.isTTY === true && fstatSync(process.stdout.fd).isFile(),
    // A terminal shows what others wrote; a file or a pipe gets it exactly.
    write: (text) => written(process.stdout.isTTY === true ? printable(text, '\n') : text),
    finish: async () => {},
    report: (line) => process.stderr.write(`${line}\n`),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Writes beside the file, so that what bears its name is always whole. Throws `CommandError` if it may not. */
export async function fileOutput(path: string, force: boolean): Promise<Output> {
  const { target, mode } = await targetOf(path, force);
  const partial = `${target}.${process.pid}.partial`;
  const attempt = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(cannotWrite(path, error)));
  const file = await attempt(open(partial, 'wx', mode));
  // Without what the umask takes away: a file that is replaced keeps its mode.
  if (mode !== undefined) await attempt(file.chmod(mode));
  let isFinished = false;
  return {
    name: printable(path),
    leavesTerminalFree: process.stderr.isTTY === true,
    write: (text) => attempt(file.writeFile(text)),
    finish: async () => {
      await attempt(file.sync());
      // Once more: a store of that name may have been made meanwhile.
      refuseStoreFile(path);
      await attempt(rename(partial, target));
      isFinished = true;
    },
    report: say,
    [Symbol.asyncDispose]: async () => {
      await file.close();
      if (!isFinished) await rm(partial, { force: true });
    },
  };
}

/** Throws `CommandError` for a file that belongs to a store, whether or not it may be replaced. */
export function refuseStoreFile(path: string): void {
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

async function targetOf(path: string, force: boolean): Promise<Target> {
  refuseStoreFile(path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { target: path };
  if (!found.isFile())
    throw new CommandError(`${path} is not a regular file. To write to standard output, use "-".`);
  if (!force)
    throw new CommandError(`${path} already exists. Use --force to replace it, or choose another file.`);
  // A link stays one, and what it leads to is replaced.
  return { target: await realpath(path), mode: found.mode & 0o777 };
}
