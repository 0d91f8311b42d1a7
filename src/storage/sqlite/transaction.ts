import type { Database } from 'bun:sqlite';
import type { Resource } from '../../domain/resources.ts';
import { sessions } from '../../tables/operators.ts';
import { createEntities } from '../entity.ts';
import { createSessionWrites } from '../queries/sessions.ts';
import { type EntityTransaction, type Transaction, writableTables } from '../transaction.ts';
import { expectDeclared } from '../unit-of-work.ts';
import { SqliteEngine } from './engine.ts';
import { DeferredChanges } from './entities/changes.ts';
import { deliveryWrites } from './entities/deliveries.ts';
import { SqliteEntity } from './entities/entity.ts';
import { eventWrites } from './entities/events.ts';
import { inventoryWrites } from './entities/inventory.ts';
import { petWrites } from './entities/pets.ts';
import { responseWrites } from './entities/responses.ts';
import { SqliteUsageWrites } from './entities/usage-writes.ts';

export class SqliteTransaction {
  readonly tables: Transaction;
  readonly #raise;
  readonly #updateInventory;
  /** Changes made by the running unit. */
  readonly #ofUnit = new DeferredChanges();
  /** Changes made by earlier units of the group, except those that were rolled back. */
  readonly #ofGroup = new DeferredChanges();

  constructor(database: Database, recordsEvents = true) {
    const { touch } = this.#ofUnit;
    const events = eventWrites(database, recordsEvents);
    this.tables = {
      ...createEntities<EntityTransaction>(
        writableTables,
        (table) => new SqliteEntity(database, table, { touch }),
      ),
      pets: petWrites(database, this.#ofUnit, events),
      events,
      deliveries: deliveryWrites(database, touch),
      sessions: Object.assign(
        new SqliteEntity(database, sessions),
        createSessionWrites(new SqliteEngine(database)),
      ),
      storedResponses: responseWrites(database),
      usage: new SqliteUsageWrites(database),
    };
    this.#updateInventory = inventoryWrites(database);
    this.#raise = database.query<never, [string]>(
      'UPDATE versions SET version = version + 1 WHERE resource = ?',
    );
  }

  /** Keeps the unit's changes until the group is committed. `writes` are the resources that the unit declares. */
  keepUnit(writes: readonly Resource[]): void {
    for (const resource of this.#ofUnit.touched) expectDeclared(writes, resource);
    this.#ofGroup.include(this.#ofUnit);
    this.#ofUnit.clear();
  }

  forgetUnit(): void {
    this.#ofUnit.clear();
  }

  /**
   * Raises the versions of the resources that the group has changed, and updates the animal counts. Must be called
   * directly before the commit.
   */
  finishGroup(): void {
    this.#updateInventory(this.#ofGroup);
    for (const resource of this.#ofGroup.touched) this.#raise.run(resource);
    this.#ofGroup.clear();
  }

  forgetGroup(): void {
    this.#ofUnit.clear();
    this.#ofGroup.clear();
  }
}
