import type { Database } from 'bun:sqlite';
import type { Resource } from '../../domain/resources.ts';
import type { Transaction } from '../transaction.ts';
import { SqliteAccountWrites } from './accounts.ts';
import { SqliteAnswerWrites } from './answers.ts';
import { SqliteCategoryWrites } from './categories.ts';
import { SqliteImportWrites } from './imports.ts';
import { SqliteKeyWrites } from './keys.ts';
import { SqliteOrderWrites } from './orders.ts';
import { SqlitePetWrites } from './pets.ts';

/** Says what a write changes, so that its version rises with the commit. */
export type Touch = (resource: Resource) => void;

/** What units of work write with, on the one connection that writes. */
export class SqliteTransaction implements Transaction {
  readonly pets;
  readonly categories;
  readonly orders;
  readonly answers;
  readonly accounts;
  readonly keys;
  readonly imports;
  readonly #raise;
  readonly #touched = new Set<Resource>();

  constructor(database: Database) {
    const touch: Touch = (resource) => this.#touched.add(resource);
    this.pets = new SqlitePetWrites(database, touch);
    this.categories = new SqliteCategoryWrites(database, touch);
    this.orders = new SqliteOrderWrites(database, touch);
    this.answers = new SqliteAnswerWrites(database);
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
