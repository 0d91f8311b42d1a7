import pino, { type Logger } from 'pino';

/** A line of the log, parsed. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A log in memory, in the format of the service. */
export function keptLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line) as LogLine) };
  return { log: pino({ level: 'info', base: null }, stream), lines };
}
