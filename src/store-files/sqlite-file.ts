import { type Database, SQLiteError } from 'bun:sqlite';

/** Identifies data files of this service, so that another program's database is never migrated ("AnSt"). */
export const storeApplicationId = 0x416e5374;
export const backupApplicationId = 0x416e5342;
/** The target of a copy that has not been verified yet ("AnSC"). */
export const copyApplicationId = 0x416e5343;

export function readPragma(database: Database, name: string): number {
  const [row] = database.query<Record<string, number | bigint>, []>(`PRAGMA ${name}`).all();
  return Number(row?.[name]);
}

export function hasTable(database: Database, name: string): boolean {
  return database.query('SELECT 1 FROM sqlite_schema WHERE name = ?').all(name).length > 0;
}

export function hasCode(error: unknown, codes: RegExp): error is SQLiteError {
  return error instanceof SQLiteError && codes.test(String(error.code));
}
