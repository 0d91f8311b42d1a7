import type { Database } from 'bun:sqlite';
import { BackupError } from '../../backup.ts';

/** Most findings that are told. */
const mostFindings = 3;

/**
 * Lets SQLite check a database: `quick_check` its trees and rows, `integrity_check` also that each index has the rows of its
 * table. Throws `BackupError`.
 */
export function checkStore(database: Database, how: 'quick_check' | 'integrity_check'): void {
  const found = database.query<Record<string, string>, []>(`PRAGMA ${how}(${mostFindings})`).all();
  const findings = found.map((row) => row[how] ?? '').filter((finding) => finding !== 'ok');
  if (findings.length === 0) return;
  throw new BackupError('damaged', `The data is damaged: ${findings.join('; ').replaceAll('\n', ' ')}.`);
}
