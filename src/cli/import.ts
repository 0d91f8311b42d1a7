import { openOffice } from '../app.ts';
import type { Config } from '../config.ts';
import { ImportOperations, type ImportProgress, type RejectedRow } from '../operations/imports.ts';
import { type FormatName, formatOf } from './formats.ts';
import { ImportReport } from './import-report.ts';
import { fileInput, type Input, standardInput } from './input.ts';
import { Progress } from './progress.ts';
import type { RecordReader } from './records.ts';
import { RejectsFile } from './rejects.ts';
import { Rows } from './rows.ts';
import { interruption } from './signals.ts';
import { CommandError, messageOf } from './terminal.ts';

export interface ImportOptions {
  readonly format?: FormatName;
  readonly rejects?: string;
  readonly force?: true;
  readonly dryRun?: true;
  readonly again?: true;
  readonly fromLine?: number;
  readonly json?: true;
}

export async function importPets(config: Config, file: string, options: ImportOptions): Promise<void> {
  const format = formatOf(file, options.format);
  const reader = format.newReader();
  using interrupted = interruption();
  const input = file === '-' ? standardInput() : await fileInput(file, interrupted.signal);
  using rejects = rejectsFile(file, options, reader);
  await using office = options.dryRun === true ? undefined : await openOffice(config);

  const imports = new ImportOperations(office?.storage.imports);
  const stored = input.source === undefined ? undefined : await imports.find(input.source);
  const passedOver = linesPassedOver(stored, options);
  const firstLine = Math.max(format.firstLine, passedOver + 1);
  const report = new ImportReport({ file, firstLine, stored, ...options });
  if (stored?.finished === true && options.again !== true) return report.allIn(stored);

  try {
    await addRows({
      imports,
      input,
      reader,
      stored,
      passedOver,
      rejects,
      report,
      signal: interrupted.signal,
    });
  } catch (error) {
    // Nothing is in, and the error says what to do: a wrong header.
    if (error instanceof CommandError && report.rows === 0) throw error;
    report.print('failed');
    throw new CommandError(`${messageOf(error)} ${report.advice}`, 1, error);
  }
  report.print(report.isComplete ? 'complete' : 'interrupted');
  if (!report.isComplete) throw new CommandError(`Interrupted. ${report.advice}`);
}

interface Work {
  readonly imports: ImportOperations;
  readonly input: Input;
  readonly reader: RecordReader;
  readonly stored: ImportProgress | undefined;
  readonly passedOver: number;
  readonly rejects: RejectsFile | undefined;
  readonly report: ImportReport;
  readonly signal: AbortSignal;
}

async function addRows({ imports, input, reader, stored, passedOver, rejects, report, signal }: Work) {
  // The rejected rows of the part that is in already are written again, so that the file has all of them.
  const rewrites = stored?.finished === false && rejects !== undefined;
  const onPassedOver = rewrites ? (row: RejectedRow) => rejects.write([row]) : undefined;
  const rows = new Rows({ input, reader, afterLine: passedOver, onPassedOver, signal });
  using progress = new Progress('rows', input.bytes);
  for await (const group of imports.add({ source: input.source, stored, rows, signal })) {
    report.add(group);
    rejects?.write(group.rejected);
    progress.update(rows.bytesRead, report.rows);
  }
}

/** How many lines are not dealt with this time: those an interrupted import dealt with, or those before `--from-line`. */
function linesPassedOver(stored: ImportProgress | undefined, { fromLine }: ImportOptions): number {
  if (stored === undefined || stored.finished) return (fromLine ?? 1) - 1;
  if (fromLine !== undefined) {
    throw new CommandError(
      `The lines up to ${stored.lastLine} of this file are dealt with, and it goes on behind them: leave out --from-line.`,
      2,
    );
  }
  return stored.lastLine;
}

function rejectsFile(
  file: string,
  { rejects, force }: ImportOptions,
  reader: RecordReader,
): RejectsFile | undefined {
  if (rejects === undefined) return undefined;
  const inputPath = file === '-' ? undefined : file;
  return new RejectsFile({ path: rejects, inputPath, force: force === true }, reader);
}
