import pino, { type Logger } from 'pino';

/** One JSON line per event on standard error, with `fields`; readable lines when that is a terminal. */
export async function openLog(
  level: string,
  fields: Readonly<Record<string, unknown>> | null = null,
): Promise<Logger> {
  const base = { level, base: fields, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) return pino(base, pino.destination({ fd: 2, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(base, pretty({ destination: 2, sync: true, singleLine: true }));
}
