import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { CommandError, cannotWrite, printable, say } from './terminal.ts';

/** Where an export writes to. */
export interface Output extends AsyncDisposable {
  readonly name: string;
  /** Whether a terminal shows nothing of what is written, so that progress can be shown. */
  readonly leavesTerminalFree: boolean;
  write(text: string): Promise<void>;
  /** All is written: the file gets its name. */
  finish(): Promise<void>;
  /** Says how it went, where it does not mix with what was written. */
  report(line: string): void;
}

export function standardOutput(): Output {
  return {
    name: 'standard output',
    leavesTerminalFree: process.stderr.isTTY === true && process.stdout.isTTY !== true,
    write: (text) =>
      new Promise((resolve, reject) => {
        // A terminal shows what others wrote; a file or a pipe gets it exactly.
        const shown = process.stdout.isTTY === true ? printable(text, '\n') : text;
        process.stdout.write(shown, (error) => (error ? reject(error) : resolve()));
      }),
    finish: async () => {},
    report: (line) => process.stderr.write(`${line}\n`),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Writes beside the file, so that what bears its name is always whole. Throws `CommandError` if it may not. */
export async function fileOutput(path: string, force: boolean): Promise<Output> {
  const target = await targetOf(path, force);
  const partial = `${target}.${process.pid}.partial`;
  const attempt = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(cannotWrite(path, error)));
  const file = await attempt(open(partial, 'wx'));
  let isFinished = false;
  return {
    name: path,
    leavesTerminalFree: process.stderr.isTTY === true,
    write: (text) => attempt(file.writeFile(text)),
    finish: async () => {
      await attempt(file.sync());
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

async function targetOf(path: string, force: boolean): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return path;
  if (!found.isFile()) throw new CommandError(`${path} is no regular file. "-" writes to standard output.`);
  if (!force) throw new CommandError(`${path} exists already. --force replaces it, or name another file.`);
  // A link stays one, and what it leads to is replaced.
  return realpath(path);
}
