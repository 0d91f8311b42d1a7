import { styleText } from 'node:util';
import { Refusal } from '../domain/refusal.ts';

/** What a command did not do, said to the operator; ends the process with the exit code. */
export class CommandError extends Error {
  /** 1: it could not be done. 2: the command itself is wrong. */
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** What went wrong, in a sentence for the operator. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Refusal)) return error instanceof Error ? error.message : String(error);
  // Only a store that says "not now" refuses the command line.
  const reason = error.cause instanceof Error ? error.cause.message : error.code;
  return `The store is temporarily unavailable (${reason}). Try again.`;
}

/** The system does not let a file be written; its own words say why. */
export function cannotWrite(path: string, error: unknown): CommandError {
  const reason = messageOf(error).replace(/, \w+( '.*)?$/, '');
  return new CommandError(`Cannot write ${path}: ${reason}.`, 1, error);
}

/** Characters that make a terminal do something, or show text in another order than it has: controls and bidi controls. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/** Text from outside as a terminal may show it: what is not to be printed is escaped as JSON does, but for `kept`. */
export function printable(text: string, kept = ''): string {
  return text.replace(unprintable, (character) => {
    if (kept.includes(character)) return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Writes a line for people to standard output. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a value for machines to standard output, as one line of JSON. */
export function sayJson(value: unknown): void {
  // In JSON only strings can hold such characters, and there the escape stands for the same one.
  say(printable(JSON.stringify(value)));
}

/** A reader that has seen enough (`| head`) closes the pipe: that is no error, and the rest is for nobody. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isClosedPipe(error)) throw error;
  });
}

export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

type Format = Parameters<typeof styleText>[0];

/** Colour, on a terminal that wants it (NO_COLOR, FORCE_COLOR) only. */
export function styled(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stdout, validateStream: true });
}

/** A count with its thousands set apart. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** An instant (Unix ms) to the second, in UTC. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Rows as columns, each as wide as its widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...shown.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [styled('bold', line(header)), ...shown.map(line)].join('\n');
}

/** Text as one word of a shell's command. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
