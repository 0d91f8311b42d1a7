import { readFileSync, readlinkSync } from 'node:fs';
import { styleText } from 'node:util';
import { ApiError } from '../contract/api-error.ts';
import { errors } from '../contract/errors.ts';
import { escapeUnprintable } from '../domain/escape-unprintable.ts';
import { resources } from './resources/names.ts';

export class CommandError extends Error {
  /** 1 for a failure, 2 for a usage error. */
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

export function errorMessage(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.code !== 'service_unavailable') return formatApiError(error);
  const reason = error.cause instanceof Error ? error.cause.message : error.code;
  if (reason.startsWith('the data file ')) return `${reason.replace('the', 'The')}.`;
  if (error.message === undefined) return `The store is temporarily unavailable (${reason}). Try again.`;
  // Uses only the first sentence, because the rest of the message describes response headers.
  const [outcome] = error.message.split(/(?<=\.) /);
  return `${outcome} The store is temporarily unavailable (${reason}). Check before you try again.`;
}

/**
 * Returns the message for a rejected request. If an object was not found, the message refers to the command that lists
 * such objects.
 */
function formatApiError({ code, message, details }: ApiError): string {
  const said =
    details.length === 0
      ? (message ?? errors[code].message)
      : `${details.map((mistake) => `${mistake.name} ${mistake.message}`).join('; ')}.`;
  const [, noun] = /^(.+)_not_found$/.exec(code) ?? [];
  const resource = `${noun?.replace(/(?<![aeiou])y$/, 'ie')}s`;
  return Object.hasOwn(resources, resource)
    ? `${said} For a list, run "animal-store ${resource} list".`
    : said;
}

export function writeError(path: string, error: unknown): CommandError {
  const reason = errorMessage(error).replace(/, \w+( '.*)?$/, '');
  return new CommandError(`Cannot write ${path}: ${reason}.`, 1, error);
}

export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a value to standard output as one line of JSON. */
export function printJson(value: unknown): void {
  // In JSON, control characters occur only in strings, where an escape has the same meaning.
  printLine(escapeUnprintable(JSON.stringify(value)));
}

/**
 * Writes text to standard output, and resolves when the stream accepts more. Rejects with `CommandError`, or with the
 * system error if the pipe was closed.
 */
export function writeOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(outputError(error)) : resolve()));
  });
}

/**
 * Prints a secret that is shown only once. Throws `CommandError` with the remedy if it cannot be written, even if the
 * pipe was closed.
 */
export async function printSecret(text: string, remedy: string): Promise<void> {
  await writeOutput(`${text}\n`).catch((error) => {
    const { message } = isBrokenPipe(error) ? writeError('standard output', error) : error;
    throw new CommandError(`${message} ${remedy}`, 1, error);
  });
}

/** The first failure to write to standard output, except that the pipe was closed. */
let outputFailure: Error | undefined;
let lastWrite = Promise.resolve();

/** Records the results of all writes to standard output for `expectOutput`. */
export function watchOutput(): void {
  // Every failure is also passed to the callback of its write.
  process.stdout.on('error', () => undefined);
  const write = process.stdout.write.bind(process.stdout);
  const isClosed = isOutputClosed();
  process.stdout.write = (text: string | Uint8Array, ...others: unknown[]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lastWrite = promise;
    const done = others.at(-1);
    const settle = (error?: Error | null) => {
      if (error && !isBrokenPipe(error)) outputFailure ??= error;
      if (typeof done === 'function') done(error);
      resolve();
    };
    if (!isClosed) return write(text, settle);
    settle(new Error('it is closed'));
    return true;
  };
}

/** Throws `CommandError` if any output could not be written. Ignores that a program such as `head` closed the pipe. */
export async function expectOutput(): Promise<void> {
  await lastWrite;
  if (outputFailure !== undefined) throw outputError(outputFailure);
}

/** The runtime opens /dev/null in place of a closed standard output, and only then is the descriptor close-on-exec. */
function isOutputClosed(): boolean {
  try {
    const [, flags = '0'] = /^flags:\s*(\d+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0 && readlinkSync('/proc/self/fd/1') === '/dev/null';
  } catch {
    return false;
  }
}

const closeOnExec = 0o2_000_000;

function outputError(error: Error): Error {
  return isBrokenPipe(error) ? error : writeError('standard output', error);
}

export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

type Format = Parameters<typeof styleText>[0];

/** Styles text if the terminal supports it (NO_COLOR and FORCE_COLOR apply). */
export function styleIfSupported(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stdout, validateStream: true });
}

export function formatInteger(count: number | bigint): string {
  return count.toLocaleString('en-US');
}

export function pluralize(count: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${formatInteger(count)} ${Number(count) === 1 ? noun : plural}`;
}

/** Formats a time (Unix ms) in UTC, to the second. */
export function formatDateTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return new PagedTable(header).add(rows);
}

/** A table that is printed page by page. Each column is as wide, in terminal columns, as its widest cell so far. */
export class PagedTable {
  readonly #header: readonly string[];
  #widths: readonly number[] | undefined;

  constructor(header: readonly string[]) {
    this.#header = header;
  }

  add(rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => row.map((cell) => escapeUnprintable(cell)));
    const before = this.#widths;
    const widths = this.#header.map((title, column) =>
      Math.max(before?.[column] ?? title.length, ...cells.map((row) => Bun.stringWidth(row[column] ?? ''))),
    );
    this.#widths = widths;
    const line = (row: readonly string[]) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))))
        .join('  ')
        .trimEnd();
    const head = before === undefined ? [styleIfSupported('bold', line(this.#header))] : [];
    return [...head, ...cells.map(line)].join('\n');
  }
}

export function quoteForShell(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
