import { openCopy } from '../app.ts';
import type { Checksum } from '../operations/copies.ts';
import { Progress } from './progress.ts';
import { interruption } from './signals.ts';
import { CommandError, grouped, say, sayJson, table } from './terminal.ts';

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly json?: true;
}

/** Copies a store to another engine and compares both sides. */
export async function copyStore({ from, to, json }: CopyOptions): Promise<void> {
  if (from === to)
    throw new CommandError('--from and --to are the same store. Set --to to a different one.', 2);
  using interrupted = interruption();
  await using copy = await openCopy(from, to);
  const total = await copy.count();
  await followed(copy.copy(), 'rows copied', total, interrupted.signal);
  const checksums = await followed(copy.verify(), 'rows verified', total, interrupted.signal);
  if (json === true) return sayJson({ identical: true, tables: checksums });
  say(table(['TABLE', 'ROWS', 'SHA-256 (SOURCE AND TARGET)'], Object.entries(checksums).map(line)));
  say('Copy complete and verified. To use it, set DATABASE_URL to the target and start the service.');
}

function line([name, { count, sha256 }]: [string, Checksum]): string[] {
  return [name, grouped(count), sha256];
}

/** Runs a step to its end, showing how far it is, unless it is interrupted. */
async function followed<Result>(
  step: AsyncGenerator<number, Result>,
  noun: string,
  total: number,
  signal: AbortSignal,
): Promise<Result> {
  using progress = new Progress(noun, total);
  for (;;) {
    const { done, value } = await step.next();
    if (done === true) return value;
    progress.update(value, value);
    if (signal.aborted) throw new CommandError('Interrupted. Run the same command again to resume.');
  }
}
