import type { Database } from 'bun:sqlite';
import type { Versions } from '../storage.ts';
import type { Transaction } from '../transaction.ts';
import { SqliteAccountWrites } from './accounts.ts';
import { SqliteImportWrites } from './imports.ts';
import { SqliteKeyWrites } from './keys.ts';
import { SqlitePetWrites } from './pets.ts';

/** Says what a write changes, so that its version rises with the commit. */
export type Touch = (resource: keyof Versions) => void;

/** What units of work write with, on the one connection that writes. */
export class SqliteTransaction implements Transaction {
  readonly pets;
  readonly accounts;
  readonly keys;
  readonly imports;
  readonly #raise;
  readonly #touched = new Set<keyof Versions>();

  constructor(database: Database) {
    const touch: Touch = (resource) => this.#touched.add(resource);
    this.pets = new SqlitePetWrites(database, touch);
    this.accounts = new SqliteAccountWrites(database, touch);
    this.keys = new SqliteKeyWrites(database, touch);
    this.imports = new SqliteImportWrites(database, this.pets);
    this.#raise = database.query<never, [string]>(
      'UPDATE versions SET version = version + 1 WHERE resource = ?',
    );
  }

  /** Raises the versions of what the unit has changed. */
  raiseVersions(): void {
    for (const resource of this.#touched) this.#raise.run(resource);
    this.#touched.clear();
  }

  /** What the unit has changed is undone. */
  forgetChanges(): void {
    this.#touched.clear();
  }
}
