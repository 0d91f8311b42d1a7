import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { entryJson, type RecordedEntry } from '../contract/admin/audit.ts';
import { auditHandlers } from '../operations/admin/audit.ts';
import { fileOutput, standardOutput } from './output.ts';
import { type Listing, type ListOptions, printList } from './pages.ts';
import { Progress } from './progress.ts';
import { interruption } from './signals.ts';
import { CommandError, counted, grouped, instant, isClosedPipe } from './terminal.ts';

/** Which entries. */
export interface AuditFilters {
  /** Unix ms. */
  readonly since?: number;
  readonly until?: number;
  readonly actor?: string;
  readonly account?: bigint;
  readonly object?: string;
}

/** How many lines are written at once. */
const linesPerWrite = 1_000;

const listing: Listing<RecordedEntry> = {
  path: '/audit',
  none: 'No entries.',
  header: ['ID', 'AT', 'ACTOR', 'OPERATION', 'OBJECT', 'CHANGE'],
  row: ({ id, at, actor, operation, object, before, after }) => [
    String(id),
    instant(Date.parse(at)),
    actor,
    operation,
    object,
    operation === 'importPets' ? importText(after) : changeText(before, after),
  ],
  json: entryJson,
};

export async function listAudit(
  config: Config,
  { since, until, actor, account, object, ...options }: AuditFilters & ListOptions,
): Promise<void> {
  await using admin = await openAdminServices(config);
  await printList({ since, until, actor, account, object }, options, listing, (query) =>
    auditHandlers.listAudit(admin, { params: {}, query, body: undefined }),
  );
}

export interface ExportAuditOptions extends AuditFilters {
  readonly force?: true;
  readonly json?: true;
}

/** Writes the entries that fit, the oldest first, as NDJSON. */
export async function exportAudit(
  config: Config,
  file: string,
  { force, json, ...filters }: ExportAuditOptions,
): Promise<void> {
  using interrupted = interruption();
  await using output = file === '-' ? standardOutput() : await fileOutput(file, force === true);
  await using admin = await openAdminServices(config);
  const entries = auditHandlers.exportAudit(admin, { params: {}, query: filters, body: undefined });
  try {
    const exported = await writeLines(entries, output, interrupted.signal);
    await output.finish();
    output.report(
      json === true
        ? JSON.stringify({ file, exported })
        : `Exported ${counted(exported, 'entry', 'entries')} to ${output.name}.`,
    );
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

type Output = ReturnType<typeof standardOutput>;

/** Returns how many lines were written. */
async function writeLines(
  lines: AsyncIterable<string>,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  using progress = new Progress('entries', undefined, { visible: output.leavesTerminalFree });
  let exported = 0;
  let waiting: string[] = [];
  const flush = async () => {
    await output.write(waiting.join(''));
    exported += waiting.length;
    waiting = [];
    progress.update(exported, exported);
  };
  for await (const line of lines) {
    if (signal.aborted) throw new CommandError(`Interrupted. ${output.name} was not written.`);
    waiting.push(`${line}\n`);
    if (waiting.length === linesPerWrite) await flush();
  }
  await flush();
  return exported;
}

/** How far an import had come, and of which file if that is known. */
function importText(after: string | null): string {
  const {
    file,
    added = 0,
    rejected = 0,
  } = JSON.parse(after ?? '{}') as {
    file?: string;
    added?: number;
    rejected?: number;
  };
  const counts = `${grouped(added)} added, ${grouped(rejected)} rejected`;
  return file === undefined ? counts : `${file}: ${counts}`;
}

/** What changed, member by member; what was made or removed as a whole is told by the operation. */
function changeText(before: string | null, after: string | null): string {
  if (before === null || after === null) return '';
  const [old, now] = [JSON.parse(before), JSON.parse(after)] as Record<string, unknown>[];
  const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.keys({ ...old, ...now })
    .filter((name) => JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name]))
    .map((name) => `${name}: ${shown(old?.[name])} → ${shown(now?.[name])}`)
    .join(', ');
}
