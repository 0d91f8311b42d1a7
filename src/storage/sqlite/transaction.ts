import type { Database } from 'bun:sqlite';
import type { Resource } from '../../domain/resources.ts';
import type { Transaction } from '../transaction.ts';
import { checkDeclared } from '../unit-of-work.ts';
import { SqliteAccountWrites } from './accounts.ts';
import { SqliteAnswerWrites } from './answers.ts';
import { SqliteAuditWrites } from './audit.ts';
import { SqliteCategoryWrites } from './categories.ts';
import { SqliteImportWrites } from './imports.ts';
import { type Counted, InventoryChange, InventoryWrites } from './inventory.ts';
import { SqliteKeyWrites } from './keys.ts';
import { SqliteOperatorWrites } from './operators.ts';
import { SqliteOrderWrites } from './orders.ts';
import { SqlitePetWrites } from './pets.ts';
import { SqliteSessionWrites } from './sessions.ts';
import { SqliteUsageWrites } from './usage-writes.ts';

/** Says what a write changes, so that its version rises with the commit. */
export type Touch = (resource: Resource) => void;

/** What units have changed that is written once for all of a group, before its commit. */
export class Changes {
  readonly #touched = new Set<Resource>();
  readonly #inventory = new InventoryChange();

  readonly touch: Touch = (resource) => {
    this.#touched.add(resource);
  };

  /** So many more animals of this kind; fewer when it is negative. */
  count(pet: Counted, by: number): void {
    this.#inventory.count(pet, by);
  }

  include(other: Changes): void {
    for (const resource of other.#touched) this.#touched.add(resource);
    this.#inventory.include(other.#inventory);
  }

  clear(): void {
    this.#touched.clear();
    this.#inventory.clear();
  }

  get touched(): ReadonlySet<Resource> {
    return this.#touched;
  }

  get inventory(): InventoryChange {
    return this.#inventory;
  }
}

/** What units of work write with, on the one connection that writes. */
export class SqliteTransaction implements Transaction {
  readonly pets;
  readonly categories;
  readonly orders;
  readonly answers;
  readonly accounts;
  readonly keys;
  readonly imports;
  readonly operators;
  readonly sessions;
  readonly audit;
  readonly usage;
  readonly #raise;
  readonly #inventory;
  /** Of the unit that is running. */
  readonly #ofUnit = new Changes();
  /** Of the units before it that were not undone. */
  readonly #ofGroup = new Changes();

  constructor(database: Database) {
    const { touch } = this.#ofUnit;
    this.pets = new SqlitePetWrites(database, this.#ofUnit);
    this.categories = new SqliteCategoryWrites(database, touch);
    this.orders = new SqliteOrderWrites(database, touch);
    this.answers = new SqliteAnswerWrites(database);
    this.accounts = new SqliteAccountWrites(database, touch);
    this.keys = new SqliteKeyWrites(database, touch);
    this.imports = new SqliteImportWrites(database, this.pets);
    this.operators = new SqliteOperatorWrites(database);
    this.sessions = new SqliteSessionWrites(database);
    this.audit = new SqliteAuditWrites(database);
    this.usage = new SqliteUsageWrites(database);
    this.#inventory = new InventoryWrites(database);
    this.#raise = database.query<never, [string]>(
      'UPDATE versions SET version = version + 1 WHERE resource = ?',
    );
  }

  /** The unit, which says that it writes these, is done, and stays so if the group is committed. */
  keepUnit(writes: readonly Resource[]): void {
    for (const resource of this.#ofUnit.touched) checkDeclared(writes, resource);
    this.#ofGroup.include(this.#ofUnit);
    this.#ofUnit.clear();
  }

  /** What the unit has changed is undone. */
  forgetUnit(): void {
    this.#ofUnit.clear();
  }

  /** Raises the versions of what the group has changed, and counts its animals; to be followed by the commit. */
  finishGroup(): void {
    this.#inventory.write(this.#ofGroup.inventory);
    for (const resource of this.#ofGroup.touched) this.#raise.run(resource);
    this.#ofGroup.clear();
  }

  /** What the group has changed is undone. */
  forgetGroup(): void {
    this.#ofUnit.clear();
    this.#ofGroup.clear();
  }
}
