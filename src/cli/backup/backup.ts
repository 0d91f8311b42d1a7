import { statSync } from 'node:fs';
import { openAdminServices } from '../../app/app.ts';
import {
  createBackupMaker,
  readServerContents,
  type StoreContents,
  sqlitePath,
  type VerifiedFile,
} from '../../app/backups.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../domain/clock.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { formatBytes } from '../../domain/format-fact.ts';
import { toAuditEntry } from '../../operations/changes/by-operator.ts';
import { backupTaskCommand } from '../processes.ts';
import { BackupProgress, BytesProgress, showActivity } from '../progress.ts';
import { catchInterruption } from '../signals.ts';
import {
  CommandError,
  errorMessage,
  formatDateTime,
  formatInteger,
  formatTable,
  pluralize,
  printJson,
  printLine,
  quoteForShell,
} from '../terminal.ts';

interface JsonOption {
  readonly json?: true;
}

export interface BackupOptions extends JsonOption {
  readonly replace?: true;
}

export async function backUp(config: Config, file: string, { replace, json }: BackupOptions): Promise<void> {
  const path = embeddedStorePath(config);
  using interrupted = catchInterruption();
  const progress = new BackupProgress();
  const facts = await createBackupMaker(path, backupTaskCommand())
    .create(file, {
      replace: replace === true,
      now: systemClock().now(),
      signal: interrupted.signal,
      onProgress: (done, total) => progress.update(done, total),
    })
    .finally(() => progress[Symbol.dispose]());
  const recorded = facts.format === facts.newestFormat ? await record(config, file, facts.bytes) : undefined;
  if (json) return printJson({ file, ...facts, createdAt: new Date(facts.createdAt).toISOString() });
  const { pets = 0, accounts = 0 } = facts.counts;
  printLine(
    `Backed up ${pluralize(pets, 'animal')} and ${pluralize(accounts, 'account')} as of ${formatDateTime(facts.createdAt)} to ${escapeUnprintable(file)} (${formatBytes(facts.bytes)}).`,
  );
  printLine(`To check it: animal-store backup verify ${escapeUnprintable(quoteForShell(file))}`);
  if (recorded !== undefined) process.stderr.write(`animal-store: ${recorded}\n`);
}

/**
 * Records a backup in the audit log. Returns an error message instead of throwing, because the backup itself is valid.
 */
async function record(config: Config, file: string, bytes: number): Promise<string | undefined> {
  try {
    await using admin = await openAdminServices(config);
    const after = JSON.stringify({ name: file, bytes });
    const what = { operation: 'createBackup', object: `backup:${file}`, before: null, after };
    await admin.storage.write('recordAudit', toAuditEntry(admin, what));
    return undefined;
  } catch (error) {
    return `The backup was created, but could not be recorded in the audit log: ${errorMessage(error)}`;
  }
}

export async function verifyBackup(
  config: Config,
  file: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  using interrupted = catchInterruption();
  const path = file ?? sqlitePath(config.databaseUrl);
  const verified: VerifiedFile =
    path === undefined
      ? { kind: 'store', ...(await countRows(config.databaseUrl)) }
      : await verifyWithProgress(path, path, interrupted.signal);
  const name = escapeUnprintable(file ?? 'the store');
  if (!json) return printVerified(name, verified);
  const createdAt =
    verified.kind === 'backup' ? { createdAt: new Date(verified.createdAt).toISOString() } : {};
  printJson({ file: file ?? null, sound: true, ...verified, ...createdAt });
}

async function countRows(url: string): Promise<StoreContents> {
  using _line = showActivity('Counting rows');
  return await readServerContents(url);
}

/** Verifies a backup of the store at `path` and shows progress. */
export async function verifyWithProgress(
  path: string,
  file: string,
  signal: AbortSignal,
): Promise<VerifiedFile> {
  using progress = new BytesProgress('read');
  const onProgress = (done: number, total: number) => progress.update(done, total);
  return await createBackupMaker(path, backupTaskCommand()).verify(file, { signal, onProgress });
}

function printVerified(name: string, verified: VerifiedFile): void {
  const { format, newestFormat } = verified;
  const counts = Object.entries(verified.counts).map(([table, rows]) => [table, formatInteger(rows)]);
  printLine(formatTable(['TABLE', 'ROWS'], counts));
  printLine(describeFormat(format, newestFormat));
  if (verified.kind === 'store') {
    printLine(
      verified.bytes === null
        ? `Counted all rows in ${name}. To check its files, use the server's own tools.`
        : `Read all of ${name} (${formatBytes(verified.bytes)}): no damage was found.`,
    );
    return;
  }
  const { createdAt, madeBy, bytes, limitBytes } = verified;
  const limits = limitBytes === 0 ? 'without counts or bans' : 'with counts and bans';
  printLine(
    `Backup of ${formatDateTime(createdAt)}, created by version ${madeBy}, ${limits} (${formatBytes(bytes)}).`,
  );
  printLine(`${name} is intact.`);
}

function describeFormat(format: number, newest: number): string {
  if (format === newest) return `Format ${format}, the current format in this version.`;
  return format < newest
    ? `Format ${format}, which this version will upgrade to ${newest} the next time it starts.`
    : `Format ${format}, which requires a newer version. This version supports formats up to ${newest}.`;
}

/** Returns the path of the store. Throws `CommandError` if the store is on a database server or does not exist. */
function embeddedStorePath({ databaseUrl }: Config): string {
  const path = sqlitePath(databaseUrl);
  if (path === undefined) {
    throw new CommandError(
      'DATABASE_URL refers to PostgreSQL, which has its own backup tools, such as pg_dump. See docs/backup.md.',
    );
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(`${path} is a folder.`);
  return path;
}
