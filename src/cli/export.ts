import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import type { PetStatus } from '../contract/pets.ts';
import { ExportOperations } from '../operations/exports.ts';
import { spreadsheetRow } from '../operations/files/csv.ts';
import type { Format, FormatName } from '../operations/files/formats.ts';
import { formatOf } from './formats.ts';
import { fileOutput, type Output, standardOutput } from './output.ts';
import { Progress } from './progress.ts';
import { interruption } from './signals.ts';
import { CommandError, counted, isClosedPipe } from './terminal.ts';

export interface ExportOptions {
  readonly format?: FormatName;
  readonly force?: true;
  readonly escapeFormulas?: true;
  readonly ids?: true;
  readonly status?: PetStatus;
  readonly category?: bigint;
  readonly json?: true;
}

export async function exportPets(
  config: Config,
  file: string,
  { format, force, json, status, category: categoryId, ...how }: ExportOptions,
): Promise<void> {
  const chosen = rowsOf(formatOf(file, format), how);
  using interrupted = interruption();
  await using output = file === '-' ? standardOutput() : await fileOutput(file, force === true);
  await using admin = await openAdminServices(config);
  try {
    const exported = await write(
      new ExportOperations(admin.storage.pets, { status, categoryId }),
      chosen,
      output,
      interrupted.signal,
    );
    await output.finish();
    const report =
      json === true
        ? JSON.stringify({ file, exported })
        : `Exported ${counted(exported, 'animal')} to ${output.name}.`;
    output.report(report);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

type Rows = Pick<Format, 'header' | 'row'>;

/** The rows of the format, with ids, and harmless to spreadsheets, if that is asked for. */
function rowsOf(format: Format, { escapeFormulas, ids }: ExportOptions): Rows {
  if (escapeFormulas && format.name !== 'csv') {
    throw new CommandError(
      '--escape-formulas applies to CSV only. Remove it, or export with --format csv.',
      2,
    );
  }
  const row = escapeFormulas ? spreadsheetRow : format.row;
  if (!ids) return { header: format.header, row };
  return { header: format.headerWithId, row: (pet) => format.withId(pet.id, row(pet)) };
}

/** Returns how many animals were written. */
async function write(
  exports: ExportOperations,
  { header, row }: Rows,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const total = await exports.count();
  using progress = new Progress('animals', total, { visible: output.leavesTerminalFree });
  let exported = 0;
  await output.write(header);
  for await (const page of exports.pages()) {
    if (signal.aborted) throw new CommandError(`Interrupted. ${output.name} was not written.`);
    await output.write(page.map(row).join(''));
    exported += page.length;
    progress.update(exported, exported);
  }
  return exported;
}
