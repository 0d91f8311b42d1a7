import { accessSync, closeSync, constants, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFile } from '../../app/app.ts';
import type { RecordReader } from '../../operations/files/records.ts';
import type { RejectedRow } from '../../operations/imports/imports.ts';
import { CommandError, writeError } from '../terminal.ts';
import { expectNoStoreFile } from './output.ts';

interface RejectsOptions {
  readonly path: string;
  /** Input file; undefined for standard input. */
  readonly inputPath: string | undefined;
  readonly force: boolean;
}

/** Writes rejected rows to a file immediately, in the format of the input. */
export class RejectsFile implements Disposable {
  readonly #options: RejectsOptions;
  readonly #reader: RecordReader;
  #file: number | undefined;

  constructor(options: RejectsOptions, reader: RecordReader) {
    this.#options = options;
    this.#reader = reader;
    const { path, inputPath, force } = options;
    checkFolder(path);
    expectNoStoreFile(path);
    if (!existsSync(path)) return;
    if (inputPath !== undefined && isSameFile(path, inputPath)) {
      throw new CommandError(`--rejects ${path} is the file being imported. Choose another file.`, 2);
    }
    if (!force)
      throw new CommandError(`${path} already exists. Use --force to replace it, or choose another file.`);
  }

  write(rows: readonly RejectedRow[]): void {
    try {
      this.#file ??= this.#open();
      for (const { line, reason, bytes } of rows) {
        writeAll(this.#file, this.#reader.rejected(line, reason, bytes));
      }
    } catch (error) {
      throw writeError(this.#options.path, error);
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #open(): number {
    const { path, force } = this.#options;
    // Repeats the check, because the import may have created a store with this name.
    expectNoStoreFile(path);
    const file = force && existsSync(path) ? openSync(path, 'w') : createFile(path, 0o666);
    writeAll(file, Buffer.from(this.#reader.rejectsHeader()));
    return file;
  }
}

/** Checks before the import that the file can be written. A later failure would lose rejected rows. */
function checkFolder(path: string): void {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw writeError(path, error);
  }
}

function isSameFile(path: string, other: string): boolean {
  const [one, two] = [statSync(path), statSync(other)];
  return one.dev === two.dev && one.ino === two.ino;
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
}
