import { type RestoreResult, restoreBackup, sqlitePath } from '../../app/backups.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../domain/clock.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { BytesProgress } from '../progress.ts';
import { catchInterruption } from '../signals.ts';
import { CommandError, formatDateTime, pluralize, printJson, printLine, quoteForShell } from '../terminal.ts';
import { verifyWithProgress } from './backup.ts';

export interface RestoreOptions {
  readonly to?: string;
  readonly replace?: true;
  readonly json?: true;
}

export async function restore(
  config: Config,
  backup: string,
  { to, replace, json }: RestoreOptions,
): Promise<void> {
  const path = targetPath(config, to);
  using interrupted = catchInterruption();
  const { signal } = interrupted;
  const progress = new BytesProgress('copied');
  const restored = await restoreBackup({
    backup,
    path,
    replace: replace === true,
    now: systemClock().now(),
    signal,
    verify: (copy) => {
      progress[Symbol.dispose]();
      return verifyWithProgress(path, copy, signal);
    },
    onProgress: (done, total) => progress.update(done, total),
  }).finally(() => progress[Symbol.dispose]());
  if (json) return printJson({ ...restored, createdAt: new Date(restored.createdAt).toISOString() });
  printRestored(restored, to);
}

function printRestored(
  { path, createdAt, counts, replaced, format, newestFormat, limitBytes }: RestoreResult,
  to?: string,
): void {
  const { pets = 0, accounts = 0, keys = 0 } = counts;
  const what = `${pluralize(pets, 'animal')}, ${pluralize(accounts, 'account')} and ${pluralize(keys, 'API key')}`;
  printLine(
    `Restored ${what} as of ${formatDateTime(createdAt)} to ${escapeUnprintable(path)}${replaced ? ', replacing the existing store' : ''}.`,
  );
  printLine(
    limitBytes === 0
      ? 'The backup has no request counts or bans, so they are reset.'
      : 'Request counts and bans were restored as well.',
  );
  printLine('Keys that were revoked after the backup are valid again. Revoke them again.');
  if (format < newestFormat)
    printLine(
      `The store will be upgraded from format ${format} to ${newestFormat} the next time the service starts.`,
    );
  if (to !== undefined)
    printLine(
      `To serve this store: DATABASE_URL=${escapeUnprintable(quoteForShell(`sqlite:${path}`))} animal-store serve`,
    );
}

function targetPath({ databaseUrl }: Config, to: string | undefined): string {
  const path = to === undefined ? sqlitePath(databaseUrl) : (sqlitePath(to) ?? to);
  if (path !== undefined && !/^(?:postgres(?:ql)?|sqlite):/.test(path)) return path;
  throw new CommandError(
    'Backups can be restored only to embedded stores. Specify one with --to PATH. For PostgreSQL, see docs/backup.md.',
    to === undefined ? 1 : 2,
  );
}
