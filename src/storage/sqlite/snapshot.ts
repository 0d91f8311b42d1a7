import type { Database } from 'bun:sqlite';
import { mapVersions, type Resource, type Versions } from '../../domain/resources.ts';
import { DataDamagedError } from '../../outages/errors.ts';
import { convertErrors } from './database.ts';
import type { FormatWatch } from './format-watch.ts';
import type { WalIndex } from './wal-index.ts';

/**
 * A snapshot of the data file for one event-loop tick. All reads in a tick share the snapshot, because opening it costs
 * more than most reads. The snapshot is released at the end of the tick, because an open reader keeps the WAL from
 * being reset. A commit releases the snapshot earlier, because a tick may serve requests from clients that have already
 * seen the commit through another process.
 */
export class Snapshot implements Disposable {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #index: WalIndex | undefined;
  readonly #onDamage: (damage: DataDamagedError) => void;
  readonly #begin;
  readonly #end;
  readonly #dataVersion;
  readonly #select;
  #isOpen = false;
  #endsWithTick = false;
  /** SQLite's data version, which changes when another connection commits, in any process. */
  #seen: bigint | undefined;
  #versions: Versions = mapVersions(() => 0);

  /**
   * `database` must be used for this snapshot only. With `index`, commits by other processes release the snapshot.
   * `onDamage` is called whenever a read finds the data file damaged.
   */
  constructor(
    database: Database,
    format: FormatWatch,
    index: WalIndex | undefined,
    onDamage: (damage: DataDamagedError) => void,
  ) {
    this.#database = database;
    this.#format = format;
    this.#index = index;
    this.#onDamage = onDamage;
    this.#begin = database.query('BEGIN');
    this.#end = database.query('ROLLBACK');
    this.#dataVersion = database.query<{ data_version: bigint }, []>('PRAGMA data_version');
    this.#select = database.query<{ resource: Resource; version: bigint }, []>(
      'SELECT resource, version FROM versions',
    );
  }

  /** Runs a query. Throws `StorageUnavailable`. */
  read<T>(work: () => T): T {
    this.#open();
    return this.#attempt(work, this.#format);
  }

  /**
   * Throws `StorageUnavailable` if the file was migrated, or if the versions cannot be read and cached data may
   * therefore be outdated.
   */
  versions(): Versions {
    this.#open();
    this.#format.check();
    return this.#versions;
  }

  /** Releases the snapshot, so that later reads in this tick see later commits. */
  renew(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A disk error may have ended the transaction.
    if (this.#database.inTransaction) this.#end.run();
  }

  [Symbol.dispose](): void {
    this.renew();
  }

  #open(): void {
    if (this.#isOpen) {
      if (this.#index?.hasChanged !== true) return;
      this.renew();
    }
    // Called before the transaction begins, so that no commit is missed. A commit in between may release the snapshot
    // unnecessarily.
    this.#index?.remember();
    this.#attempt(() => {
      this.#begin.run();
      this.#isOpen = true;
      try {
        this.#check();
      } catch (error) {
        this.renew();
        throw error;
      }
    });
    if (this.#endsWithTick) return;
    this.#endsWithTick = true;
    setImmediate(() => {
      this.#endsWithTick = false;
      this.renew();
    });
  }

  #attempt<T>(work: () => T, format?: FormatWatch): T {
    try {
      return convertErrors(this.#database.filename, work, format);
    } catch (error) {
      if (error instanceof DataDamagedError) this.#onDamage(error);
      throw error;
    }
  }

  #check(): void {
    const version = this.#dataVersion.get()?.data_version;
    if (version === this.#seen) return;
    this.#format.refresh();
    // A file with another format may lack the table.
    if (this.#format.trouble === undefined) {
      const found = this.#select.all().map(({ resource, version: at }) => [resource, Number(at)]);
      this.#versions = Object.fromEntries(found);
    }
    this.#seen = version;
  }
}
