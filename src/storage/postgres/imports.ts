import type { SQL } from 'bun';
import type { NewPet, Pet } from '../../contract/pets.ts';
import type { ImportRun, ImportStore } from '../storage.ts';
import type { ImportWrites } from '../transaction.ts';
import { addedPets, adding, type TakenRow } from './pets.ts';
import type { Reader, Statements } from './statements.ts';

interface ImportRow {
  readonly source: string;
  readonly lastLine: bigint;
  readonly added: bigint;
  readonly rejected: bigint;
  readonly finished: boolean;
}

export class PostgresImports implements ImportStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(source: string): Promise<ImportRun | undefined> {
    const [row] = await this.#find((sql) => sql`source = ${source}`);
    return row;
  }

  findParts(content: string): Promise<ImportRun[]> {
    return this.#find((sql) => sql`source LIKE ${`${content}:%`}`);
  }

  async #find(condition: (sql: SQL) => SQL.Query<unknown>): Promise<ImportRun[]> {
    const rows = await this.#reader.read<ImportRow[]>(
      (sql) => sql`
        SELECT source, last_line AS "lastLine", added, rejected, finished FROM imports WHERE ${condition(sql)}`,
    );
    return rows.map(({ source, lastLine, added, rejected, finished }) => {
      return {
        source,
        lastLine: Number(lastLine),
        added: Number(added),
        rejected: Number(rejected),
        finished,
      };
    });
  }
}

export class PostgresImportWrites implements ImportWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async commit(pets: readonly NewPet[], run?: ImportRun, fromLine?: number): Promise<Pet[] | undefined> {
    const [row] = await this.#statements.change<TakenRow>('pets', (sql) =>
      run === undefined
        ? sql`WITH ${adding(sql, pets)} SELECT last, version FROM taken`
        : sql`WITH ${moving(sql, run, fromLine)}, ${adding(sql, pets, sql`EXISTS (SELECT 1 FROM moved)`)}
              SELECT last, version FROM taken`,
    );
    return row && addedPets(pets, row.last);
  }
}

/** Saves the progress, in `moved`; not if it has moved from the line it was read at. */
function moving(sql: SQL, run: ImportRun, fromLine: number | undefined) {
  const from = fromLine ?? null;
  return sql`
    moved AS (
      INSERT INTO imports (source, last_line, added, rejected, finished)
      SELECT ${run.source}, ${run.lastLine}::bigint, ${run.added}::bigint, ${run.rejected}::bigint,
             ${run.finished}::boolean
      WHERE coalesce(${from}::bigint, 0) = 0 OR EXISTS (SELECT 1 FROM imports WHERE source = ${run.source})
      ON CONFLICT (source) DO UPDATE SET
        last_line = excluded.last_line, added = excluded.added,
        rejected = excluded.rejected, finished = excluded.finished
      WHERE imports.last_line = coalesce(${from}::bigint, imports.last_line)
      RETURNING source
    )`;
}
