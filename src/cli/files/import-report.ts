import type { PetStatus } from '../../contract/pets.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import type { ImportBatch, ImportProgress, RejectedRow } from '../../operations/imports/imports.ts';
import { formatInteger, printJson, printLine } from '../terminal.ts';

const maxShownRejects = 20;

interface ImportReportOptions {
  readonly file: string;
  readonly firstLine: () => number;
  readonly stored: ImportProgress | undefined;
  readonly rejects?: string;
  readonly status?: PetStatus;
  readonly category?: bigint;
  readonly dryRun?: true;
  readonly json?: true;
}

type Status = 'complete' | 'interrupted' | 'failed' | 'already-complete';

/** Counts the rows of an import and reports which rows were imported. */
export class ImportReport {
  readonly #options: ImportReportOptions;
  readonly #startedAt = performance.now();
  #before: ImportProgress | undefined;
  readonly #shown: RejectedRow[] = [];
  #total: ImportProgress | undefined;
  #firstId: bigint | undefined;
  #lastId: bigint | undefined;
  skipped = 0;

  constructor(options: ImportReportOptions) {
    this.#options = options;
    this.#before = options.stored?.finished === false ? options.stored : undefined;
    this.#total = this.#before;
  }

  get isComplete(): boolean {
    return this.#total?.finished === true;
  }

  get allRejected(): boolean {
    const { status, category } = this.#options;
    // The stored progress of an import with a filter does not include the skipped rows, which are valid.
    const mayHaveSkipped = this.skipped > 0 || (this.#before && (status ?? category) !== undefined);
    return this.#total?.added === 0 && this.#total.rejected > 0 && !mayHaveSkipped;
  }

  get rows(): number {
    return this.#added + this.#rejected;
  }

  get #added(): number {
    return (this.#total?.added ?? 0) - (this.#before?.added ?? 0);
  }

  get #rejected(): number {
    return (this.#total?.rejected ?? 0) - (this.#before?.rejected ?? 0);
  }

  add({ progress, rejected, firstId, lastId }: ImportBatch): void {
    this.#total = progress;
    this.#firstId ??= firstId;
    this.#lastId = lastId ?? this.#lastId;
    this.#shown.push(...rejected.slice(0, maxShownRejects - this.#shown.length));
  }

  get advice(): string {
    const { file, firstLine, rejects, dryRun } = this.#options;
    if (dryRun === true) return 'Nothing was written to the store.';
    const nextLine = Math.max(firstLine(), (this.#total?.lastLine ?? 0) + 1);
    if (file === '-') return `To resume, send the same input again with --from-line ${nextLine}.`;
    return `To resume, run the same command again${rejects === undefined ? '' : ' with --force'}.`;
  }

  /** Result and remedy if the file was changed during the import. */
  get afterChange(): string {
    const { file, dryRun } = this.#options;
    const lastLine = this.#total?.lastLine ?? 0;
    const what = `${file} was changed while it was being read.`;
    if (dryRun === true || lastLine === 0) return `${what} Nothing was imported. Run the command again.`;
    return (
      `${what} Only rows of its original content were imported, up to line ${lastLine}, and the import is recorded as ` +
      'unfinished. To finish it, restore the original file and run the same command again. The changed file counts as ' +
      `another file, so importing it adds all of its rows again: to import only its later rows, use --from-line ${lastLine + 1}.`
    );
  }

  allIn(stored: ImportProgress): void {
    this.#before = stored;
    this.#total = stored;
    const { file, firstLine, json } = this.#options;
    if (json === true) {
      this.#printJson('already-complete');
      return;
    }
    const { lastLine, added, rejected } = stored;
    printLine(
      `${escapeUnprintable(file)} is already imported: ${formatCounts(added, rejected)} (${formatLineRange(firstLine(), lastLine)}). Nothing was added.`,
    );
    printLine('To import it again, use --again.');
  }

  print(status: Exclude<Status, 'already-complete'>): void {
    this.#listRejected();
    if (this.#options.json === true) this.#printJson(status);
    else for (const line of this.#lines()) printLine(escapeUnprintable(line));
  }

  #lines(): string[] {
    const { file, firstLine, dryRun, rejects } = this.#options;
    const name = file === '-' ? 'standard input' : file;
    const lastLine = this.#total?.lastLine ?? 0;
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const text: string[] = [];
    if (this.#before !== undefined) {
      const { lastLine: line, added, rejected } = this.#before;
      text.push(`Resuming ${name} after line ${line}: ${formatCounts(added, rejected)} so far.`);
    }
    const skipped = this.skipped === 0 ? '' : `, skipped ${formatInteger(this.skipped)}`;
    if (this.rows === 0)
      return [...text, `${name}: no rows ${text.length > 0 ? 'left' : 'imported'}${skipped}.`];
    const place = formatLineRange(firstLine(), lastLine);
    text.push(
      dryRun === true
        ? `Dry run: nothing was imported. ${name}: ${formatInteger(this.#added)} valid, ${formatInteger(this.#rejected)} invalid${skipped} (${place}).`
        : `${name}: ${formatCounts(this.#added, this.#rejected)}${skipped} (${place}).`,
    );
    if (this.#firstId !== undefined) {
      const isOne = this.#firstId === this.#lastId;
      text.push(
        isOne ? `New animal id: ${this.#firstId}.` : `New animal ids: ${this.#firstId} to ${this.#lastId}.`,
      );
    }
    if (rejects !== undefined && this.#rejected > 0) text.push(`Rejected rows: ${rejects}`);
    text.push(`Took ${seconds.toFixed(1)} s (${formatInteger(Math.round(this.rows / seconds))} rows/s).`);
    return text;
  }

  #printJson(status: Status): void {
    const { file, firstLine, dryRun, rejects } = this.#options;
    printJson({
      file,
      status,
      dryRun: dryRun === true,
      added: this.#added,
      rejected: this.#rejected,
      skipped: this.skipped,
      firstLine: firstLine(),
      lastLine: this.#total?.lastLine ?? 0,
      firstId: toJsonId(this.#firstId),
      lastId: toJsonId(this.#lastId),
      total: { added: this.#total?.added ?? 0, rejected: this.#total?.rejected ?? 0 },
      rejects: rejects ?? null,
    });
  }

  #listRejected(): void {
    if (this.#options.rejects !== undefined) return;
    for (const { line, reason } of this.#shown) process.stderr.write(`line ${line}: ${reason}\n`);
    const more = this.#rejected - this.#shown.length;
    if (more > 0)
      process.stderr.write(`… and ${formatInteger(more)} more; use --rejects FILE to save all of them.\n`);
  }
}

function formatLineRange(first: number, last: number): string {
  return first === last ? `of line ${first}` : `of lines ${first}–${last}`;
}

function formatCounts(added: number, rejected: number): string {
  return `imported ${formatInteger(added)}, rejected ${formatInteger(rejected)}`;
}

/** Ids are assigned from 1 upward, so the disk fills up long before an id exceeds 2^53. */
function toJsonId(id: bigint | undefined): number | null {
  return id === undefined ? null : Number(id);
}
