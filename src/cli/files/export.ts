import { type AdminServices, openAdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { int64Max } from '../../contract/json.ts';
import { type PetStatus, totalAnimals } from '../../contract/pets.ts';
import type { Pet } from '../../contract/representations.ts';
import { formatSpreadsheetRow } from '../../operations/files/csv.ts';
import type { Format, FormatName } from '../../operations/files/formats.ts';
import { readInBatches } from '../../operations/read-in-batches.ts';
import { Progress } from '../progress.ts';
import { catchInterruption } from '../signals.ts';
import { CommandError, isBrokenPipe, pluralize } from '../terminal.ts';
import { detectFormat } from './input.ts';
import { openFileOutput, openStandardOutput } from './output.ts';
import { type DamagedPart, readUndamaged } from './skip-damage.ts';

interface FileOptions {
  readonly force?: true | undefined;
  readonly json?: true | undefined;
}

interface ExportPetsOptions extends FileOptions {
  readonly format?: FormatName;
  readonly escapeFormulas?: true;
  readonly ids?: true;
  readonly status?: PetStatus;
  readonly category?: bigint;
  readonly skipDamaged?: true;
}

const rowsPerRead = 1_000;

export async function exportPets(config: Config, file: string, options: ExportPetsOptions): Promise<void> {
  const { format, status, category: categoryId } = options;
  const { header, row } = exportFormat(detectFormat(file, format), options);
  await exportTo(config, file, options, ['animal', 'animals'], async ({ storage: { pets } }) => {
    const filter = { status, categoryId };
    const parts = async function* (): AsyncGenerator<Part> {
      yield { text: header, items: 0 };
      // An animal that exists throughout the export is included exactly once, even with concurrent writes.
      const pages = options.skipDamaged
        ? readUndamaged(rowsPerRead, (after, limit) => pets.list(after, limit, filter), reportDamage)
        : readInBatches(rowsPerRead, (last?: Pet) => pets.list(last?.id, rowsPerRead, filter));
      for await (const page of pages) yield { text: page.map(row).join(''), items: page.length };
    };
    if (options.skipDamaged) return { total: undefined, parts: parts() };
    const inventory = await pets.inventory(categoryId);
    const total = status === undefined ? totalAnimals(inventory) : inventory[status];
    return { total, parts: parts() };
  });
}

function reportDamage({ from, to }: DamagedPart): void {
  const ids = to === int64Max ? `ids from ${from}` : `ids from ${from} to ${to}`;
  process.stderr.write(`Damaged, cannot be read: animals with ${ids}.\n`);
}

type Rows = Pick<Format, 'header' | 'row'>;

/** Returns the format of the rows, with ids and escaped formulas if requested. */
function exportFormat(format: Format, { escapeFormulas, ids }: ExportPetsOptions): Rows {
  if (escapeFormulas && format.name !== 'csv') {
    throw new CommandError(
      '--escape-formulas applies to CSV only. Remove it, or export with --format csv.',
      2,
    );
  }
  const row = escapeFormulas ? formatSpreadsheetRow : format.row;
  if (!ids) return { header: format.header, row };
  return { header: format.headerWithId, row: (pet) => format.withId(pet.id, row(pet)) };
}

const linesPerWrite = 1_000;

export async function exportLines(
  config: Config,
  file: string,
  options: FileOptions,
  nouns: readonly [string, string],
  open: (admin: AdminServices) => Promise<AsyncIterable<string>>,
): Promise<void> {
  await exportTo(config, file, options, nouns, async (admin) => {
    const lines = await open(admin);
    const parts = async function* (): AsyncGenerator<Part> {
      let waiting: string[] = [];
      for await (const line of lines) {
        waiting.push(`${line}\n`);
        if (waiting.length < linesPerWrite) continue;
        yield { text: waiting.join(''), items: waiting.length };
        waiting = [];
      }
      yield { text: waiting.join(''), items: waiting.length };
    };
    return { total: undefined, parts: parts() };
  });
}

interface Part {
  readonly text: string;
  readonly items: number;
}

interface Source {
  readonly total: number | undefined;
  readonly parts: AsyncIterable<Part>;
}

async function exportTo(
  config: Config,
  file: string,
  { force, json }: FileOptions,
  [noun, nouns]: readonly [string, string],
  open: (admin: AdminServices) => Promise<Source>,
): Promise<void> {
  using interrupted = catchInterruption();
  await using output = file === '-' ? openStandardOutput() : await openFileOutput(file, force === true);
  await using admin = await openAdminServices(config);
  try {
    const { total, parts } = await open(admin);
    let exported = 0;
    {
      using progress = new Progress(nouns, total, { visible: output.leavesTerminalFree });
      for await (const { text, items } of parts) {
        if (interrupted.signal.aborted)
          throw new CommandError(`Interrupted. ${output.name} was not written.`);
        await output.write(text);
        exported += items;
        progress.update(exported, exported);
      }
    }
    await output.finish();
    output.report(
      json === true
        ? JSON.stringify({ file, exported })
        : `Exported ${pluralize(exported, noun, nouns)} to ${output.name}.`,
    );
  } catch (error) {
    if (!isBrokenPipe(error)) throw error;
  }
}
