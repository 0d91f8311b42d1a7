import type { Database } from 'bun:sqlite';
import type { NewPet } from '../../contract/schemas.ts';
import type { ImportRun, ImportStore } from '../storage.ts';
import { attempt } from './database.ts';
import type { SqlitePets } from './pets.ts';

interface ImportRow {
  lastLine: bigint;
  added: bigint;
  rejected: bigint;
  finished: bigint;
}

export class SqliteImports implements ImportStore {
  readonly #find;
  readonly #commit: (pets: readonly NewPet[], run: ImportRun) => void;

  constructor(database: Database, pets: SqlitePets) {
    this.#find = database.query<ImportRow, [string]>(
      'SELECT last_line AS lastLine, added, rejected, finished FROM imports WHERE source = ?',
    );
    const save = database.query<never, [string, number, number, number, number]>(
      'INSERT OR REPLACE INTO imports (source, last_line, added, rejected, finished) VALUES (?, ?, ?, ?, ?)',
    );
    this.#commit = database.transaction((group: readonly NewPet[], run: ImportRun) => {
      for (const pet of group) pets.insert(pet);
      save.run(run.source, run.lastLine, run.added, run.rejected, run.finished ? 1 : 0);
    }).immediate;
  }

  find(source: string): ImportRun | undefined {
    const row = attempt(() => this.#find.get(source));
    if (row === null) return undefined;
    const [lastLine, added, rejected] = [Number(row.lastLine), Number(row.added), Number(row.rejected)];
    return { source, lastLine, added, rejected, finished: row.finished === 1n };
  }

  commit(pets: readonly NewPet[], run: ImportRun): void {
    attempt(() => this.#commit(pets, run));
  }
}
