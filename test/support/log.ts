import pino, { type Logger } from 'pino';

/** A parsed line of the log. */
type LogLine = Readonly<Record<string, unknown>>;

/** Creates a logger that keeps its lines in memory, in the service's format. */
export function keptLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line) as LogLine) };
  return { log: pino({ level: 'info', base: null }, stream), lines };
}
