import { styleText } from 'node:util';
import { errors } from '../contract/errors.ts';
import { Refusal } from '../contract/refusal.ts';
import { printable } from '../domain/printable.ts';
import { resources } from './resources/names.ts';

export class CommandError extends Error {
  /** 1 for a failure, 2 for a usage error. */
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Refusal)) return error instanceof Error ? error.message : String(error);
  if (error.code !== 'service_unavailable') return refusalMessage(error);
  const reason = error.cause instanceof Error ? error.cause.message : error.code;
  if (error.message === undefined) return `The store is temporarily unavailable (${reason}). Try again.`;
  // Uses only the first sentence, because the rest of the message describes response headers.
  const [outcome] = error.message.split(/(?<=\.) /);
  return `${outcome} The store is temporarily unavailable (${reason}). Check before you try again.`;
}

/**
 * Returns the message for a rejected request. If an object was not found, the message refers to the command that lists
 * such objects.
 */
function refusalMessage({ code, message, details }: Refusal): string {
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

export function cannotWrite(path: string, error: unknown): CommandError {
  const reason = messageOf(error).replace(/, \w+( '.*)?$/, '');
  return new CommandError(`Cannot write ${path}: ${reason}.`, 1, error);
}

export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a value to standard output as one line of JSON. */
export function printJson(value: unknown): void {
  printJsonText(JSON.stringify(value));
}

/** Like `printJson`, for JSON text with exact integers. */
export function printJsonText(json: string): void {
  // In JSON, control characters occur only in strings, where an escape has the same meaning.
  printLine(printable(json));
}

/** Writes text to standard output, and resolves when the stream accepts more. */
export function written(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Ignores the error that occurs when a program such as `head` closes the pipe. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isClosedPipe(error)) throw error;
  });
}

export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

type Format = Parameters<typeof styleText>[0];

/** Styles text if the terminal supports it (NO_COLOR and FORCE_COLOR apply). */
export function styled(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stdout, validateStream: true });
}

export function grouped(count: number | bigint): string {
  return count.toLocaleString('en-US');
}

export function counted(count: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${Number(count) === 1 ? noun : plural}`;
}

/** Formats a time (Unix ms) in UTC, to the second. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return new Table(header).add(rows);
}

/** A table that is printed page by page. Each column is as wide, in terminal columns, as its widest cell so far. */
export class Table {
  readonly #header: readonly string[];
  #widths: readonly number[] | undefined;

  constructor(header: readonly string[]) {
    this.#header = header;
  }

  add(rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => row.map((cell) => printable(cell)));
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
    const head = before === undefined ? [styled('bold', line(this.#header))] : [];
    return [...head, ...cells.map(line)].join('\n');
  }
}

export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
