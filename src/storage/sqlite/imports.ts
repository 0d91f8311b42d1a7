import type { Database } from 'bun:sqlite';
import type { NewPet, Pet } from '../../contract/pets.ts';
import type { ImportRun, ImportStore } from '../storage.ts';
import type { ImportWrites } from '../transaction.ts';
import type { SqlitePetWrites } from './pets.ts';
import type { Snapshot } from './snapshot.ts';

interface ImportRow {
  source: string;
  lastLine: bigint;
  added: bigint;
  rejected: bigint;
  finished: bigint;
}

const selection = 'SELECT source, last_line AS lastLine, added, rejected, finished FROM imports';

export class SqliteImports implements ImportStore {
  readonly #snapshot: Snapshot;
  readonly #find;
  readonly #findParts;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#find = database.query<ImportRow, [string]>(`${selection} WHERE source = ?`);
    this.#findParts = database.query<ImportRow, [string]>(`${selection} WHERE source LIKE ? || ':%'`);
  }

  find(source: string): ImportRun | undefined {
    const row = this.#snapshot.read(() => this.#find.get(source));
    return row === null ? undefined : runOf(row);
  }

  findParts(content: string): ImportRun[] {
    return this.#snapshot.read(() => this.#findParts.all(content)).map(runOf);
  }
}

export class SqliteImportWrites implements ImportWrites {
  readonly #pets: SqlitePetWrites;
  readonly #lastLine;
  readonly #save;

  constructor(database: Database, pets: SqlitePetWrites) {
    this.#pets = pets;
    this.#lastLine = database.query<{ lastLine: bigint }, [string]>(
      'SELECT last_line AS lastLine FROM imports WHERE source = ?',
    );
    this.#save = database.query<never, [string, number, number, number, number]>(
      'INSERT OR REPLACE INTO imports (source, last_line, added, rejected, finished) VALUES (?, ?, ?, ?, ?)',
    );
  }

  commit(pets: readonly NewPet[], run?: ImportRun, fromLine?: number): Pet[] | undefined {
    if (run !== undefined) {
      const { source, lastLine, added, rejected, finished } = run;
      const [stored] = this.#lastLine.all(source);
      if (fromLine !== undefined && Number(stored?.lastLine ?? 0) !== fromLine) return undefined;
      this.#save.run(source, lastLine, added, rejected, finished ? 1 : 0);
    }
    return this.#pets.add(pets);
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
