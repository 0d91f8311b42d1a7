import type { ImportGroup, ImportProgress, RejectedRow } from '../operations/imports.ts';
import { grouped, say, sayJson } from './terminal.ts';

/** How many rejected rows are shown when they are not written to a file. */
const rejectsShown = 20;

export interface ImportReportOptions {
  readonly file: string;
  /** The first line this run deals with. */
  readonly firstLine: number;
  /** What was known of the file before. */
  readonly stored: ImportProgress | undefined;
  readonly rejects?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

type Status = 'complete' | 'interrupted' | 'failed' | 'already-complete';

/** Counts what an import does, and says exactly which rows are in. */
export class ImportReport {
  readonly #options: ImportReportOptions;
  readonly #startedAt = performance.now();
  /** What earlier runs of the same import did. */
  #before: ImportProgress | undefined;
  readonly #shown: RejectedRow[] = [];
  #total: ImportProgress | undefined;
  #firstId: bigint | undefined;
  #lastId: bigint | undefined;

  constructor(options: ImportReportOptions) {
    this.#options = options;
    this.#before = options.stored?.finished === false ? options.stored : undefined;
    this.#total = this.#before;
  }

  get isComplete(): boolean {
    return this.#total?.finished === true;
  }

  /** Rows dealt with by this run. */
  get rows(): number {
    return this.#added + this.#rejected;
  }

  get #added(): number {
    return (this.#total?.added ?? 0) - (this.#before?.added ?? 0);
  }

  get #rejected(): number {
    return (this.#total?.rejected ?? 0) - (this.#before?.rejected ?? 0);
  }

  add({ progress, rejected, firstId, lastId }: ImportGroup): void {
    this.#total = progress;
    this.#firstId ??= firstId;
    this.#lastId = lastId ?? this.#lastId;
    this.#shown.push(...rejected.slice(0, rejectsShown - this.#shown.length));
  }

  /** How to go on with an import that ended before its time. */
  get advice(): string {
    const { file, firstLine, rejects, dryRun } = this.#options;
    if (dryRun === true) return 'Nothing was written to the store.';
    const nextLine = Math.max(firstLine, (this.#total?.lastLine ?? 0) + 1);
    if (file === '-') return `To go on, give the same input again with --from-line ${nextLine}.`;
    return `To go on, run the same command again${rejects === undefined ? '' : ' with --force'}.`;
  }

  allIn(stored: ImportProgress): void {
    this.#before = stored;
    this.#total = stored;
    const { file, json } = this.#options;
    if (json === true) {
      this.#printJson('already-complete');
      return;
    }
    const { lastLine, added, rejected } = stored;
    const { firstLine } = this.#options;
    say(
      `${file} is all in already, lines ${firstLine} to ${lastLine}: ${outcome(added, rejected)}. Nothing was added.`,
    );
    say('--again adds it once more; --dry-run shows what it holds.');
  }

  print(status: Exclude<Status, 'already-complete'>): void {
    this.#listRejected();
    if (this.#options.json === true) this.#printJson(status);
    else for (const line of this.#lines()) say(line);
  }

  #lines(): string[] {
    const { file, firstLine, dryRun, rejects } = this.#options;
    const name = file === '-' ? 'standard input' : file;
    const lastLine = this.#total?.lastLine ?? 0;
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const lines: string[] = [];
    if (this.#before !== undefined) {
      const { lastLine: line, added, rejected } = this.#before;
      lines.push(`${name} was broken off before, behind line ${line}: ${outcome(added, rejected)}.`);
    }
    if (this.rows === 0)
      return [...lines, `${name}: no row ${lines.length > 0 ? 'was left' : 'is dealt with'}.`];
    const place = `${name}: lines ${firstLine} to ${lastLine}`;
    const counts = outcome(this.#added, this.#rejected);
    lines.push(
      dryRun === true
        ? `Dry run, nothing is written to the store. ${place} would be dealt with so: ${counts}.`
        : `${place} are dealt with: ${counts}.`,
    );
    if (this.#firstId !== undefined)
      lines.push(`The animals have ids from ${this.#firstId} to ${this.#lastId}.`);
    if (rejects !== undefined && this.#rejected > 0) lines.push(`The rejected rows are in ${rejects}.`);
    lines.push(`${seconds.toFixed(1)} s, ${grouped(Math.round(this.rows / seconds))} rows a second.`);
    return lines;
  }

  #printJson(status: Status): void {
    const { file, firstLine, dryRun, rejects } = this.#options;
    sayJson({
      file,
      status,
      dryRun: dryRun === true,
      added: this.#added,
      rejected: this.#rejected,
      firstLine,
      lastLine: this.#total?.lastLine ?? 0,
      firstId: idOf(this.#firstId),
      lastId: idOf(this.#lastId),
      total: { added: this.#total?.added ?? 0, rejected: this.#total?.rejected ?? 0 },
      rejects: rejects ?? null,
    });
  }

  #listRejected(): void {
    if (this.#options.rejects !== undefined) return;
    for (const { line, reason } of this.#shown) process.stderr.write(`line ${line}: ${reason}\n`);
    const more = this.#rejected - this.#shown.length;
    if (more > 0) process.stderr.write(`… and ${grouped(more)} more; --rejects FILE writes all of them.\n`);
  }
}

function outcome(added: number, rejected: number): string {
  return `${grouped(added)} in, ${grouped(rejected)} rejected`;
}

/** Ids ascend from 1, so they are exact as JSON numbers long after any disk is full. */
function idOf(id: bigint | undefined): number | null {
  return id === undefined ? null : Number(id);
}
