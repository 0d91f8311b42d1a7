import type { Database } from 'bun:sqlite';
import { foldCase } from '../../tables/accounts.ts';
import { schemaChanges } from '../schema/schema.ts';
import { newestFormatOf } from '../store-errors.ts';
import type { Migrations } from './database.ts';

/** Migration steps of the data file. */
export const dataMigrations: Migrations = schemaChanges.map(({ formats, sqlite, foldsNames }) => ({
  format: formats.sqlite,
  change: (database) => {
    database.run(sqlite);
    if (foldsNames) foldNames(database);
  },
}));

export const newestFormat = newestFormatOf(dataMigrations);

function foldNames(database: Database): void {
  const names = database.query<{ id: bigint; name: string }, []>('SELECT id, name FROM accounts').all();
  const fold = database.query<never, [string, bigint]>('UPDATE accounts SET name_folded = ? WHERE id = ?');
  for (const { id, name } of names) fold.run(foldCase(name), id);
}
