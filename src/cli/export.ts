import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { ExportOperations } from '../operations/exports.ts';
import { spreadsheetRow } from './csv.ts';
import { type Format, type FormatName, formatOf } from './formats.ts';
import { fileOutput, type Output, standardOutput } from './output.ts';
import { Progress } from './progress.ts';
import { interruption } from './signals.ts';
import { CommandError, grouped, isClosedPipe } from './terminal.ts';

export interface ExportOptions {
  readonly format?: FormatName;
  readonly force?: true;
  readonly escapeFormulas?: true;
  readonly json?: true;
}

export async function exportPets(
  config: Config,
  file: string,
  { format, force, escapeFormulas, json }: ExportOptions,
): Promise<void> {
  const chosen = rowsFor(formatOf(file, format), escapeFormulas);
  using interrupted = interruption();
  await using output = file === '-' ? standardOutput() : await fileOutput(file, force === true);
  await using admin = await openAdminServices(config);
  try {
    const exported = await write(
      new ExportOperations(admin.storage.pets),
      chosen,
      output,
      interrupted.signal,
    );
    await output.finish();
    const report =
      json === true
        ? JSON.stringify({ file, exported })
        : `Exported ${grouped(exported)} animals to ${output.name}.`;
    output.report(report);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

/** The format, with its rows made harmless to spreadsheets if that is asked for. */
function rowsFor(format: Format, escapeFormulas: true | undefined): Format {
  if (escapeFormulas === undefined) return format;
  if (format.name === 'csv') return { ...format, row: spreadsheetRow };
  throw new CommandError('--escape-formulas applies to CSV only. Remove it, or export with --format csv.', 2);
}

/** Returns how many animals were written. */
async function write(
  exports: ExportOperations,
  format: Format,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const total = await exports.count();
  using progress = new Progress('animals', total, { visible: output.leavesTerminalFree });
  let exported = 0;
  await output.write(format.header);
  for await (const page of exports.pages()) {
    if (signal.aborted) throw new CommandError(`Interrupted. ${output.name} was not written.`);
    await output.write(page.map(format.row).join(''));
    exported += page.length;
    progress.update(exported, exported);
  }
  return exported;
}
