/**
 * A backup is an SQLite database with the tables of the store, the limit state (`backup_limits`), notes on when and how
 * the backup was created (`backup`), and a digest of the whole file (`backup_seal`). A backup has a different application
 * id than a store, so that a backup is never served by mistake.
 */
import type { Database } from 'bun:sqlite';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { damageRemedy } from '../domain/troubles.ts';
import { dataMigrations } from '../storage/sqlite/migrations.ts';
import { explainFileError, unlessLost } from '../store-files/files.ts';
import { backupApplicationId } from '../store-files/sqlite-file.ts';
import { BackupError } from './backup.ts';

const headerBytes = 100;
const headerOffsets = { pageSize: 16, pageCount: 28, freePages: 36, applicationId: 68 } as const;
const sqliteMagic = 'SQLite format 3\0';

export interface FileHeader {
  readonly applicationId: number;
  readonly pageBytes: number;
  readonly pages: number;
  readonly freePages: number;
  readonly bytes: number;
}

/** Reads the header without SQLite. Throws `BackupError` unless the file is a database. */
export function readHeader(path: string): FileHeader {
  const file = openFile(path);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new BackupError('foreign', `${path} is not a regular file.`);
    if (found.size === 0) throw new BackupError('damaged', `${path} is empty.`);
    const header = Buffer.alloc(headerBytes);
    const read = readSync(file, header, 0, headerBytes, 0);
    if (read < headerBytes || !header.toString('latin1').startsWith(sqliteMagic)) {
      throw new BackupError('foreign', `${path} is not a backup: it is not an SQLite database.`);
    }
    const pageSize = header.readUInt16BE(headerOffsets.pageSize);
    return {
      applicationId: header.readUInt32BE(headerOffsets.applicationId),
      // The largest page size does not fit into two bytes, and is stored as 1.
      pageBytes: pageSize === 1 ? 65_536 : pageSize,
      pages: header.readUInt32BE(headerOffsets.pageCount),
      freePages: header.readUInt32BE(headerOffsets.freePages),
      bytes: found.size,
    };
  } finally {
    closeSync(file);
  }
}

function openFile(path: string): number {
  try {
    // Opening a pipe must not block.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BackupError('missing', `File not found: ${path}`);
    throw new BackupError('failed', `Cannot read ${path}: ${explainFileError(error as Error, path)}.`, error);
  }
}

export function isBackup(path: string): boolean {
  try {
    return readHeader(path).applicationId === backupApplicationId;
  } catch {
    return false;
  }
}

export interface BackupMetadata {
  readonly createdAt: number;
  readonly madeBy: string;
  readonly format: number;
  readonly limitBytes: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Whether a store of this format, which is not newer, can be opened or upgraded. */
export const isKnownFormat = (format: number): boolean =>
  dataMigrations.some((step) => step.format === format);

/** Tables that describe the backup itself, except `backup_limits`. */
export const metadataTables = ['backup', 'backup_seal'] as const;
export const limitTable = 'backup_limits';

/** Size of the limit state in a backup. */
export function readLimitBytes(database: Database): number {
  const [limits] = database
    .query<{ bytes: number | null }, []>(`SELECT sum(length(bytes)) AS bytes FROM ${limitTable}`)
    .all();
  return limits?.bytes ?? 0;
}

export function countRows(database: Database): Record<string, number> {
  const names = database
    .query<{ name: string }, []>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== limitTable && !metadataTables.includes(name as 'backup'));
  return Object.fromEntries(names.map((name) => [name, countTable(database, name)]));
}

function countTable(database: Database, table: string): number {
  const name = `"${table.replaceAll('"', '""')}"`;
  const [row] = database.query<{ count: number | bigint }, []>(`SELECT count(*) AS count FROM ${name}`).all();
  return Number(row?.count);
}

/** Advice for a store that is damaged. */
export const damageAdvice = `Keep the file: ${damageRemedy}. ${unlessLost}`;

const maxFindings = 3;

/**
 * Runs SQLite's `quick_check`, which checks the trees and rows, or `integrity_check`, which also checks the indexes.
 * Throws `BackupError` if the data is damaged. `advice` ends the message.
 */
export function checkStore(
  database: Database,
  how: 'quick_check' | 'integrity_check',
  advice?: string,
): void {
  const found = database.query<Record<string, string>, []>(`PRAGMA ${how}(${maxFindings})`).all();
  const findings = found.map((row) => row[how] ?? '').filter((finding) => finding !== 'ok');
  if (findings.length === 0) return;
  const text = `The data is damaged: ${findings.join('; ').replaceAll('\n', ' ')}.`;
  throw new BackupError('damaged', advice === undefined ? text : `${text} ${advice}`);
}
