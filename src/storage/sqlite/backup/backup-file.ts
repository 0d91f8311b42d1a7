/**
 * A backup is an SQLite database: the store's own tables, and beside them the limit state (`backup_limits`), what was noted
 * when it was made (`backup`), and a digest of the whole file (`backup_seal`). It is marked as no store, so that nobody serves
 * it by mistake and changes it.
 */
import type { Database } from 'bun:sqlite';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { BackupError } from '../../backup.ts';
import { dataFormat } from '../migrations.ts';

/** "AnSB". */
export const backupApplicationId = 0x416e5342;

/** Where the header of an SQLite database has what. */
const headerBytes = 100;
const headerAt = { pageSize: 16, pageCount: 28, freePages: 36, applicationId: 68 } as const;
const sqliteMagic = 'SQLite format 3\0';

export interface FileHeader {
  readonly applicationId: number;
  readonly pageBytes: number;
  readonly pages: number;
  readonly freePages: number;
  /** Of the file. */
  readonly bytes: number;
}

/** Reads the header without SQLite. Throws `BackupError` unless it is that of a database. */
export function headerOf(path: string): FileHeader {
  const file = open(path);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new BackupError('foreign', `${path} is not a regular file.`);
    if (found.size === 0) throw new BackupError('damaged', `${path} is empty.`);
    const header = Buffer.alloc(headerBytes);
    const read = readSync(file, header, 0, headerBytes, 0);
    if (read < headerBytes || !header.toString('latin1').startsWith(sqliteMagic)) {
      throw new BackupError('foreign', `${path} is not a backup: it is not an SQLite database.`);
    }
    const pageSize = header.readUInt16BE(headerAt.pageSize);
    return {
      applicationId: header.readUInt32BE(headerAt.applicationId),
      // The largest page size does not fit, and is written as 1.
      pageBytes: pageSize === 1 ? 65_536 : pageSize,
      pages: header.readUInt32BE(headerAt.pageCount),
      freePages: header.readUInt32BE(headerAt.freePages),
      bytes: found.size,
    };
  } finally {
    closeSync(file);
  }
}

function open(path: string): number {
  try {
    // Not to wait for whoever writes to it, should it be a pipe.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BackupError('missing', `There is no file ${path}.`);
    throw new BackupError('failed', `Cannot read ${path}: ${message}.`, error);
  }
}

/** Whether the file says that it is a backup. Nothing else of it is looked at. */
export function isBackup(path: string): boolean {
  try {
    return headerOf(path).applicationId === backupApplicationId;
  } catch {
    return false;
  }
}

/** What is noted in a backup about itself. */
export interface Notes {
  readonly createdAt: number;
  readonly madeBy: string;
  readonly format: number;
  readonly limitBytes: number;
  readonly counts: Readonly<Record<string, number>>;
}

export const newestFormat = dataFormat.migrations.length;

/** The tables of the backup itself, apart from `backup_limits`. */
export const noteTables = ['backup', 'backup_seal'] as const;
export const limitTable = 'backup_limits';

/** Rows of each of the store's own tables. */
export function countsOf(database: Database): Record<string, number> {
  const names = database
    .query<{ name: string }, []>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== limitTable && !noteTables.includes(name as 'backup'));
  return Object.fromEntries(names.map((name) => [name, rowsIn(database, name)]));
}

function rowsIn(database: Database, table: string): number {
  const name = `"${table.replaceAll('"', '""')}"`;
  const [row] = database.query<{ count: number | bigint }, []>(`SELECT count(*) AS count FROM ${name}`).all();
  return Number(row?.count);
}

export function pragma(database: Database, name: string): number {
  const [row] = database.query<Record<string, number | bigint>, []>(`PRAGMA ${name}`).all();
  return Number(row?.[name]);
}
