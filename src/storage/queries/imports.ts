import { andThen } from '../../domain/awaitable.ts';
import { imports } from '../../tables/imports.ts';
import { createRowReader, selectColumns } from '../../tables/sql.ts';
import type { ImportStore } from '../storage.ts';
import type { Engine } from './engine.ts';

const findParts = `SELECT ${selectColumns(imports)} FROM imports WHERE source LIKE $1`;

const runsOf = createRowReader(imports);

export const createImportQueries = (engine: Engine): Pick<ImportStore, 'findParts'> => ({
  findParts: (content) => andThen(engine.all(findParts, `${content}:%`), runsOf),
});
