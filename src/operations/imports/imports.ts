import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../contract/api-error.ts';
import type { NewPet, PetStatus } from '../../contract/pets.ts';
import type { Pet } from '../../contract/representations.ts';
import { petStatuses } from '../../domain/pet-status.ts';
import type { ImportRun } from '../../tables/imports.ts';
import type { NewAuditEntry } from '../../tables/operators.ts';
import { type OperatorContext, toAuditEntry } from '../changes/by-operator.ts';
import type { Store } from '../units.ts';

/**
 * Maximum number of rows that a commit changes: one per animal, and one per category, which counts its animals. Larger
 * batches would write fewer pages per row, but delay other writes longer.
 */
const rowsPerBatch = 900;
/** Maximum total length of the rejected rows in a batch. */
const maxBatchBytes = 1_048_576;
/** Pause between batches, so that a serving process can write in between. */
const restMs = 1;

/** First and last line of the row in the input, counted from 1. */
interface LineRange {
  readonly line: number;
  readonly endLine: number;
}

interface AcceptedRow extends LineRange {
  readonly pet: NewPet;
}

export interface RejectedRow extends LineRange {
  readonly reason: string;
  readonly bytes: Uint8Array;
}

export type ImportRow = AcceptedRow | RejectedRow;

export interface ImportBatch {
  readonly progress: ImportProgress;
  readonly rejected: readonly RejectedRow[];
  /** Ids of the first and last animal in the batch; undefined if the batch has none, or for a dry run. */
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
}

export type ImportProgress = Omit<ImportRun, 'source'>;

interface ImportTask {
  /**
   * Identifies the input: SHA-256, with a suffix for part of an input. Undefined if the input cannot be read twice;
   * such an import cannot be resumed.
   */
  readonly source: string | undefined;
  /** The file name for the audit log; undefined if unknown. */
  readonly file?: string | undefined;
  /** The result of `find` for this source. An unfinished import resumes; a finished import starts again. */
  readonly stored: ImportProgress | undefined;
  readonly rows: AsyncIterable<readonly ImportRow[]>;
  readonly signal: AbortSignal;
}

export interface ImportPart {
  readonly fromLine: number;
  readonly status?: PetStatus | undefined;
  readonly categoryId?: bigint | undefined;
}

export function formatPartSource(content: string, { fromLine, status, categoryId }: ImportPart): string {
  const filters = [
    ...(status === undefined ? [] : [`status=${status}`]),
    ...(categoryId === undefined ? [] : [`categoryId=${categoryId}`]),
  ];
  return `${content}:${fromLine}${filters.length > 0 ? `?${filters.join('&')}` : ''}`;
}

const partForm = /^(\d+)\??(?:status=(\w+))?&?(?:categoryId=(-?\d+))?$/;

function parsePartSource(source: string, content: string): ImportPart {
  const [, fromLine, status, categoryId] = partForm.exec(source.slice(content.length + 1)) ?? [];
  return {
    fromLine: Number(fromLine),
    status: petStatuses.find((one) => one === status),
    categoryId: categoryId === undefined ? undefined : BigInt(categoryId),
  };
}

/**
 * Whether a row can belong to both parts. Only the filters matter, because every part extends to the end of the input.
 */
export function canOverlap(one: ImportPart, other: ImportPart): boolean {
  const differ = <T>(a: T | undefined, b: T | undefined) => a !== undefined && b !== undefined && a !== b;
  return !differ(one.status, other.status) && !differ(one.categoryId, other.categoryId);
}

type ImportContext = OperatorContext<Pick<Store, 'imports' | 'write'>>;

interface Commit {
  readonly pets: readonly NewPet[];
  readonly source: string | undefined;
  readonly progress: ImportProgress;
  readonly storedLine: number;
  readonly entry: NewAuditEntry | undefined;
}

const nothing: ImportProgress = { lastLine: 0, added: 0, rejected: 0, finished: false };

/** Adds the animals of an input. Each row is added exactly once, even if the import is interrupted repeatedly. */
export class ImportOperations {
  readonly #context: ImportContext | undefined;

  /** Without a context, all imports are dry runs, which read and validate rows without storing them. */
  constructor(context: ImportContext | undefined) {
    this.#context = context;
  }

  /** The progress of an import; undefined if it never started. */
  async find(source: string): Promise<ImportProgress | undefined> {
    return this.#context?.store.imports.find(source);
  }

  async findParts(content: string): Promise<ImportPart[]> {
    const parts = (await this.#context?.store.imports.findParts(content)) ?? [];
    return parts
      .map(({ source }) => parsePartSource(source, content))
      .sort((one, other) => one.fromLine - other.fromLine);
  }

  /**
   * Adds the rows in batches, and yields after each commit. The last batch shows whether the import is complete. The
   * audit log records the start of the import (in the same transaction as the first animals) and its outcome. Throws
   * `service_unavailable`, and `import_invalid` if another import of the same input is in progress. An error does not
   * undo batches that were already yielded.
   */
  async *add({ source, file, stored, rows, signal }: ImportTask): AsyncGenerator<ImportBatch> {
    let progress = stored === undefined || stored.finished ? nothing : stored;
    const before = progress === nothing ? null : progress;
    let storedLine = stored?.lastLine ?? 0;
    let hasBegun = false;
    const commit = async (batch: readonly ImportRow[], finished: boolean): Promise<ImportBatch> => {
      const pets = batch.flatMap((row) => ('pet' in row ? [row.pet] : []));
      progress = advanceProgress(progress, batch, pets.length, finished);
      const begins = !hasBegun && pets.length > 0;
      const ends = hasBegun && batch.length === 0;
      const entry = begins || ends ? this.#entry(source, before, { file, ...progress }) : undefined;
      hasBegun ||= begins;
      const added = await this.#commit({ pets, source, progress, storedLine, entry });
      storedLine = progress.lastLine;
      const rejected = batch.filter((row) => 'reason' in row);
      return { progress, rejected, firstId: added.at(0)?.id, lastId: added.at(-1)?.id };
    };
    for await (const batch of batchRows(rows)) {
      if (signal.aborted) break;
      yield await commit(batch, false);
      await sleep(restMs);
    }
    yield await commit([], !signal.aborted);
  }

  async #commit({ pets, source, progress, storedLine, entry }: Commit): Promise<readonly Pet[]> {
    if (this.#context === undefined) return [];
    if (source === undefined && pets.length === 0 && entry === undefined) return [];
    const run = source === undefined ? {} : { run: { source, ...progress }, fromLine: storedLine };
    const added = await this.#context.store.write('commitImport', {
      pets,
      now: this.#context.clock.now(),
      ...run,
      entry,
    });
    if (added !== undefined) return added;
    const message = 'Another import of the same input is running. Wait for it to finish.';
    throw new ApiError('import_invalid', { message });
  }

  #entry(
    source: string | undefined,
    before: ImportProgress | null,
    after: ImportProgress & { readonly file: string | undefined },
  ) {
    return (
      this.#context &&
      toAuditEntry(this.#context, {
        operation: 'importPets',
        object: `import:${source === undefined ? 'standard input' : source.slice(0, 12) + source.slice(64)}`,
        before: before && JSON.stringify(before),
        after: JSON.stringify(after),
      })
    );
  }
}

function advanceProgress(
  before: ImportProgress,
  batch: readonly ImportRow[],
  added: number,
  finished: boolean,
): ImportProgress {
  return {
    lastLine: batch.at(-1)?.endLine ?? before.lastLine,
    added: before.added + added,
    rejected: before.rejected + batch.length - added,
    finished,
  };
}

/** Regroups rows into batches that change up to `rowsPerBatch` rows, or fewer if rejected rows are long. */
async function* batchRows(chunks: AsyncIterable<readonly ImportRow[]>): AsyncGenerator<readonly ImportRow[]> {
  let batch: ImportRow[] = [];
  let bytes = 0;
  const categories = new Set<bigint>();
  for await (const chunk of chunks) {
    for (const row of chunk) {
      batch.push(row);
      if ('pet' in row) categories.add(row.pet.categoryId);
      else bytes += row.bytes.length;
      if (batch.length + categories.size <= rowsPerBatch && bytes < maxBatchBytes) continue;
      yield batch;
      batch = [];
      bytes = 0;
      categories.clear();
    }
  }
  if (batch.length > 0) yield batch;
}
