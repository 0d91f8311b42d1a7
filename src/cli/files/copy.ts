import type { Command } from 'commander';
import { settings } from '../../config/settings.ts';
import { ConfigError } from '../../config.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { maskUrl } from '../../domain/mask-url.ts';
import { Pacer } from '../../domain/pacer.ts';
import { addCommand, type Environment, jsonOption } from '../command.ts';
import { Progress } from '../progress.ts';
import { catchInterruption } from '../signals.ts';
import { CommandError, formatInteger, formatTable, printJson, printLine } from '../terminal.ts';

export function addCopy(
  program: Command,
  environment: Environment,
  envFileMistakes: readonly string[],
): void {
  addCommand(program, 'copy', {
    summary: 'Copy a store to another database (SQLite or PostgreSQL), keeping all ids.',
    examples: [
      'animal-store copy --from sqlite:./data/animal-store.db --to postgres://store@db.example.com/animals',
      'FROM_DATABASE_URL=postgres://store:PASSWORD@db.example.com/animals animal-store copy --to sqlite:./data/back.db',
    ],
    notes: [
      'Stop the service first. A SQLite store that is in use is refused; rows written to PostgreSQL during the copy',
      'may be missing. The target must be empty, or contain an interrupted copy of the same source, which resumes.',
      '',
      'Copies everything except request counts, bans and console sessions, then verifies row counts and SHA-256',
      'hashes in the source and the target. API keys and operator tokens remain valid.',
      '',
      'If a URL contains a password, set it in the environment: other users can see command arguments.',
    ],
  })
    .option('--from <url>', 'store to copy: sqlite:PATH or postgres://… (default: FROM_DATABASE_URL)')
    .option('--to <url>', 'target: sqlite:PATH or postgres://… (default: TO_DATABASE_URL)')
    .addOption(jsonOption())
    .action(({ json, ...options }) => {
      if (envFileMistakes.length > 0) throw new ConfigError(envFileMistakes);
      const from = storeUrl('--from', options.from, 'FROM_DATABASE_URL', environment);
      const to = storeUrl('--to', options.to, 'TO_DATABASE_URL', environment);
      return copyStore(from, to, json);
    });
}

/**
 * Validates a URL. Throws `CommandError`. The option parser does not validate URLs, because its error would contain the
 * password.
 */
function storeUrl(
  option: string,
  given: string | undefined,
  variable: string,
  environment: Environment,
): string {
  const text = given ?? environment[variable]?.trim();
  if (!text)
    throw new CommandError(
      `Specify the store with ${option} URL or the environment variable ${variable}.`,
      2,
    );
  try {
    return settings.DATABASE_URL.parse(text);
  } catch (error) {
    const name = given === undefined ? variable : option;
    throw new CommandError(`${name} ${(error as Error).message} (got "${maskUrl(text)}").`, 2);
  }
}

async function copyStore(from: string, to: string, json: true | undefined): Promise<void> {
  if (from === to)
    throw new CommandError('--from and --to are the same store. Set --to to a different one.', 2);
  using interrupted = catchInterruption();
  const { openCopyStores } = await import('../../app/app.ts');
  await using copy = await openCopyStores(from, to);
  if (copy.servedBy.length > 0) {
    process.stderr.write(
      `animal-store: The source is being served (${escapeUnprintable(copy.servedBy.join(', '))}). Stop these instances and copy again, or rows written during the copy may be missing.\n`,
    );
  }
  const total = await copy.count();
  await showProgress(copy.copy(), 'rows copied', total, interrupted.signal);
  const checksums = await showProgress(copy.verify(), 'rows verified', total, interrupted.signal);
  if (json === true) return printJson({ identical: true, tables: checksums });
  const rows = Object.entries(checksums).map(([name, { count, sha256 }]) => [
    name,
    formatInteger(count),
    sha256,
  ]);
  printLine(formatTable(['TABLE', 'ROWS', 'SHA-256 (SOURCE AND TARGET)'], rows));
  printLine('Copy complete and verified. To use it, set DATABASE_URL to the target and start the service.');
}

async function showProgress<Result>(
  step: AsyncGenerator<number, Result>,
  noun: string,
  total: number,
  signal: AbortSignal,
): Promise<Result> {
  using progress = new Progress(noun, total);
  const pacer = new Pacer();
  for (;;) {
    const { done, value } = await step.next();
    if (done === true) return value;
    progress.update(value, value);
    // Steps between two embedded stores never wait, but signals are only received between event-loop ticks.
    if (pacer.isDue) await pacer.pause();
    if (signal.aborted) throw new CommandError('Interrupted. Run the same command again to resume.');
  }
}
