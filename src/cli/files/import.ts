import { openAdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { NewPet, PetStatus } from '../../contract/pets.ts';
import type { FormatName } from '../../operations/files/formats.ts';
import type { RecordReader } from '../../operations/files/records.ts';
import { Rows } from '../../operations/files/rows.ts';
import {
  canOverlap,
  formatPartSource,
  ImportOperations,
  type ImportPart,
  type ImportProgress,
} from '../../operations/imports/imports.ts';
import { Progress } from '../progress.ts';
import { catchInterruption } from '../signals.ts';
import { CommandError, errorMessage } from '../terminal.ts';
import { ImportReport } from './import-report.ts';
import { detectFormat, FileChangedError, type Input, openFileInput, openStandardInput } from './input.ts';
import { RejectsFile } from './rejects.ts';

export interface ImportOptions {
  readonly format?: FormatName;
  readonly rejects?: string;
  readonly force?: true;
  readonly dryRun?: true;
  readonly again?: true;
  readonly fromLine?: number;
  readonly newIds?: true;
  readonly status?: PetStatus;
  readonly category?: bigint;
  readonly json?: true;
}

export async function importPets(config: Config, file: string, options: ImportOptions): Promise<void> {
  const format = detectFormat(file, options.format);
  const reader = format.newReader({ newIds: options.newIds === true });
  using interrupted = catchInterruption();
  const { signal } = interrupted;
  await using input = file === '-' ? openStandardInput() : await openFileInput(file, signal);
  using rejects = openRejectsFile(file, options, reader);
  await using admin =
    options.dryRun === true ? undefined : await openAdminServices(config, undefined, { create: true });
  if (admin?.storage.created) process.stderr.write(`Created a new store: ${config.databaseUrl}\n`);

  const imports = new ImportOperations(admin);
  const part = selectPart(options, reader.firstLine);
  const { source, stored } = await findProgress(imports, input, part, options);
  const passedOver = Math.max((part?.fromLine ?? 1) - 1, stored?.finished === false ? stored.lastLine : 0);
  const firstLine = () => Math.max(reader.firstLine, passedOver + 1);
  const report = new ImportReport({ file, firstLine, stored, ...options });
  if (stored?.finished === true && options.again !== true) {
    report.allIn(stored);
    return failIfRejected(report);
  }

  // Rows that were rejected before the import was interrupted are written again, so that the rejects file is complete.
  const rewrites = stored?.finished === false && rejects !== undefined;
  const rows = new Rows({
    input,
    reader,
    afterLine: passedOver,
    fits: matchesPart(part),
    mustHaveRow: (part?.fromLine ?? 1) > 1 && stored?.finished !== false,
    onPassedOver: rewrites ? (row) => rejects.write([row]) : undefined,
    signal,
  });
  try {
    using progress = new Progress('rows', input.bytes);
    for await (const batch of imports.add({ source, file: input.name, stored, rows, signal })) {
      report.add(batch);
      report.skipped = rows.skipped;
      rejects?.write(batch.rejected);
      progress.update(rows.bytesRead, report.rows);
    }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'import_invalid' && report.rows === 0) throw error;
    report.print('failed');
    if (error instanceof FileChangedError) throw new CommandError(report.afterChange, 1, error);
    throw new CommandError(`${errorMessage(error)} ${report.advice}`, 1, error);
  }
  report.print(report.isComplete ? 'complete' : 'interrupted');
  if (!report.isComplete) throw new CommandError(`Interrupted. ${report.advice}`);
  failIfRejected(report);
}

function failIfRejected(report: ImportReport): void {
  if (report.allRejected)
    throw new CommandError('All rows were rejected. Correct the file, then import it again.');
}

/** Returns the selected part of the input, or undefined for the whole input. */
function selectPart(
  { fromLine = 1, status, category: categoryId }: ImportOptions,
  firstLine: number,
): ImportPart | undefined {
  const isWhole = fromLine <= firstLine && status === undefined && categoryId === undefined;
  return isWhole ? undefined : { fromLine: fromLine > firstLine ? fromLine : 1, status, categoryId };
}

function matchesPart({ status, categoryId }: Partial<ImportPart> = {}): (pet: NewPet) => boolean {
  return (pet) =>
    (status === undefined || pet.status === status) &&
    (categoryId === undefined || pet.categoryId === categoryId);
}

interface Run {
  readonly source: string | undefined;
  readonly stored: ImportProgress | undefined;
}

/** Returns the stored progress of this import. Progress is stored separately for each part and for the whole file. */
async function findProgress(
  imports: ImportOperations,
  { name, source: content }: Input,
  part: ImportPart | undefined,
  { again }: ImportOptions,
): Promise<Run> {
  if (content === undefined) return { source: undefined, stored: undefined };
  const whole = await imports.find(content);
  if (part !== undefined && whole?.finished === false) {
    throw new CommandError(
      `An import of ${name} was interrupted after line ${whole.lastLine}. ` +
        'To resume it, run the command without --from-line, --status and --category.',
      2,
    );
  }
  if (part !== undefined && (whole === undefined || again === true)) {
    const source = formatPartSource(content, part);
    if (again !== true) await expectNoOverlap(imports, name, content, part);
    return { source, stored: await imports.find(source) };
  }
  if (whole === undefined && again !== true) await expectNoParts(imports, name, content);
  return { source: content, stored: whole };
}

/**
 * Rejects an import of the whole file if part of it has already been imported, because the rows of that part would be
 * added twice.
 */
async function expectNoParts(imports: ImportOperations, name: string, content: string): Promise<void> {
  const parts = await imports.findParts(content);
  if (parts.length === 0) return;
  throw new CommandError(
    `Part of ${name} was already imported with ${parts.map(formatOptions).join(' and ')}. ` +
      'Use --again to import the whole file, including those rows a second time.',
  );
}

/**
 * Rejects an import of a part that may overlap with a previously imported part. Every part extends to the end of the
 * file, so two parts overlap unless their filters are disjoint.
 */
async function expectNoOverlap(
  imports: ImportOperations,
  name: string,
  content: string,
  part: ImportPart,
): Promise<void> {
  const others = (await imports.findParts(content)).filter(
    (other) =>
      formatPartSource(content, other) !== formatPartSource(content, part) && canOverlap(part, other),
  );
  if (others.length === 0) return;
  throw new CommandError(
    `Some of these rows may have been imported already: ${name} was imported with ${others.map(formatOptions).join(' and ')}. ` +
      'Use --again to import all matching rows, including those a second time.',
  );
}

function formatOptions({ fromLine, status, categoryId }: ImportPart): string {
  return [
    ...(fromLine > 1 ? [`--from-line ${fromLine}`] : []),
    ...(status === undefined ? [] : [`--status ${status}`]),
    ...(categoryId === undefined ? [] : [`--category ${categoryId}`]),
  ].join(' ');
}

function openRejectsFile(
  file: string,
  { rejects, force }: ImportOptions,
  reader: RecordReader,
): RejectsFile | undefined {
  if (rejects === undefined) return undefined;
  const inputPath = file === '-' ? undefined : file;
  return new RejectsFile({ path: rejects, inputPath, force: force === true }, reader);
}
