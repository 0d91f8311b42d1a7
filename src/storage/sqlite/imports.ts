import type { Database } from 'bun:sqlite';
import type { NewPet, Pet } from '../../contract/schemas.ts';
import { ImportConflict, type ImportRun, type ImportStore } from '../storage.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';
import type { SqlitePets } from './pets.ts';

interface ImportRow {
  source: string;
  lastLine: bigint;
  added: bigint;
  rejected: bigint;
  finished: bigint;
}

const selection = 'SELECT source, last_line AS lastLine, added, rejected, finished FROM imports';

export class SqliteImports implements ImportStore {
  readonly #find;
  readonly #findParts;
  readonly #commit: (pets: readonly NewPet[], run?: ImportRun, fromLine?: number) => Pet[];

  constructor(database: Database, format: FormatWatch, pets: SqlitePets) {
    this.#find = database.query<ImportRow, [string]>(`${selection} WHERE source = ?`);
    this.#findParts = database.query<ImportRow, [string]>(`${selection} WHERE source LIKE ? || ':%'`);
    const save = database.query<never, [string, number, number, number, number]>(
      'INSERT OR REPLACE INTO imports (source, last_line, added, rejected, finished) VALUES (?, ?, ?, ?, ?)',
    );
    this.#commit = database.transaction((group: readonly NewPet[], run?: ImportRun, fromLine?: number) => {
      format.verify();
      if (run !== undefined) {
        if (fromLine !== undefined) this.#checkUnmoved(run.source, fromLine);
        save.run(run.source, run.lastLine, run.added, run.rejected, run.finished ? 1 : 0);
      }
      return group.map((pet) => pets.insert(pet));
    }).immediate;
  }

  find(source: string): ImportRun | undefined {
    const row = attempt(() => this.#find.get(source));
    return row === null ? undefined : runOf(row);
  }

  findParts(content: string): ImportRun[] {
    return attempt(() => this.#findParts.all(content)).map(runOf);
  }

  commit(pets: readonly NewPet[], run?: ImportRun, fromLine?: number): Pet[] {
    return attempt(() => this.#commit(pets, run, fromLine));
  }

  #checkUnmoved(source: string, fromLine: number): void {
    const lastLine = this.find(source)?.lastLine ?? 0;
    if (lastLine !== fromLine) {
      throw new ImportConflict(
        `Another import of the same input is running (now at line ${lastLine}). Wait for it to finish.`,
      );
    }
  }
}

function runOf({ source, lastLine, added, rejected, finished }: ImportRow): ImportRun {
  return {
    source,
    lastLine: Number(lastLine),
    added: Number(added),
    rejected: Number(rejected),
    finished: finished === 1n,
  };
}
