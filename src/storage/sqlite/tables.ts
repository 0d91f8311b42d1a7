import { type Database, SQLiteError } from 'bun:sqlite';
import type { PetStatus } from '../../contract/pets.ts';
import type { StoreFiles } from '../../store-files/files.ts';
import { createServingLock } from '../../store-files/serving-lock.ts';
import { copyApplicationId, storeApplicationId } from '../../store-files/sqlite-file.ts';
import { pets } from '../../tables/pets.ts';
import { sqlColumns, sqlKeyColumns } from '../../tables/sql.ts';
import type { Table } from '../../tables/table.ts';
import type { RowConflict, TableRow, Tables, TableValue } from '../storage.ts';
import { convertErrors, openDatabase } from './database.ts';
import { DeferredChanges } from './entities/changes.ts';
import { inventoryWrites } from './entities/inventory.ts';
import { dataMigrations } from './migrations.ts';

const busyTimeoutMs = 10_000;

/** Opens the data file for copying rows. No process may serve the file at the same time. Throws `StoreUnusableError`. */
export function openSqliteTables(files: StoreFiles, mustExist: boolean): Tables {
  using opened = new DisposableStack();
  const lock = createServingLock(files, opened);
  const database = openDatabase({
    path: files.data,
    migrations: dataMigrations,
    create: !mustExist,
    migrates: false,
    // Only the target store may be marked as an unfinished copy.
    allowsUnfinished: !mustExist,
    busyTimeoutMs,
    lock,
  });
  opened.defer(() => database.close());
  lock();
  const resources = opened.move();

  const add = createInsert(database);
  return {
    async count(table) {
      const [row] = database
        .query<{ count: bigint }, []>(`SELECT count(*) AS count FROM ${table.name}`)
        .all();
      return Number(row?.count);
    },
    async rows(table, after, limit) {
      const columns = sqlColumns(table).map(({ name }) => name);
      const key = sqlKeyColumns(table).map(({ name }) => name);
      const where = after === undefined ? '' : `WHERE (${key}) > (${key.map(() => '?')})`;
      const select = database.query<never, TableValue[]>(
        `SELECT ${columns} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ?`,
      );
      const values = [...(after?.slice(0, key.length) ?? []), BigInt(limit)];
      return convertErrors(files.data, () => select.values(...values)) as TableRow[];
    },
    async add(table, rows) {
      try {
        convertErrors(files.data, () => add.immediate(table, rows));
      } catch (error) {
        const conflict = toRowConflict(error);
        if (conflict === undefined) throw error;
        return conflict;
      }
      return undefined;
    },
    async setUnfinished(isUnfinished) {
      const id = isUnfinished ? copyApplicationId : storeApplicationId;
      convertErrors(files.data, () => database.run(`PRAGMA application_id = ${id}`));
    },
    [Symbol.asyncDispose]: async () => resources.dispose(),
  };
}

function createInsert(database: Database) {
  const updateInventory = inventoryWrites(database);
  return database.transaction((table: Table, rows: readonly TableRow[]) => {
    const columns = sqlColumns(table);
    const names = columns.map(({ name }) => name).join(', ');
    const places = columns.map(() => '?').join(', ');
    const insert = database.query<never, TableValue[]>(
      `INSERT INTO ${table.name} (${names}) VALUES (${places})`,
    );
    for (const row of rows) insert.run(...row);
    if (table !== pets) return;
    const changes = new DeferredChanges();
    for (const [, , categoryId, status] of rows) {
      changes.count({ categoryId: categoryId as bigint, status: status as PetStatus }, 1);
    }
    updateInventory(changes);
  });
}

function toRowConflict(error: unknown): RowConflict | undefined {
  const code = error instanceof SQLiteError ? String(error.code) : '';
  if (/CONSTRAINT_(PRIMARYKEY|UNIQUE|ROWID|TRIGGER)/.test(code)) return 'taken';
  return /CONSTRAINT_FOREIGNKEY/.test(code) ? 'missing' : undefined;
}
