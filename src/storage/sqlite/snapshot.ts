import type { Database } from 'bun:sqlite';
import { type Resource, type Versions, versionsFrom } from '../../domain/resources.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';
import type { WalIndex } from './wal-index.ts';

/**
 * A snapshot of the data file for one event-loop tick. All reads of a tick share it, including the check for changes
 * and the lock, which cost more than most reads. It ends with the tick, because a log that is being read cannot be
 * restarted, and earlier if something was committed: the runtime accepts connections until there are no more, so that
 * one tick may answer requests that were sent during it, by clients that know of the commit from another process.
 */
export class Snapshot implements Disposable {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #index: WalIndex | undefined;
  readonly #begin;
  readonly #end;
  readonly #dataVersion;
  readonly #select;
  #isOpen = false;
  #endsWithTick = false;
  /** Changes when another connection, of any process, has committed. */
  #seen: bigint | undefined;
  #versions: Versions = versionsFrom(() => 0);

  /** `database` is a connection for this snapshot only. With `index`, commits of other processes end the snapshot. */
  constructor(database: Database, format: FormatWatch, index?: WalIndex) {
    this.#database = database;
    this.#format = format;
    this.#index = index;
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
    return attempt(work, this.#format);
  }

  /**
   * Throws `StorageUnavailable` if the versions cannot be read, because cached data may be outdated, or if the file was
   * migrated.
   */
  versions(): Versions {
    this.#open();
    this.#format.check();
    return this.#versions;
  }

  /** Ends the snapshot, so that later reads of this tick see later commits. */
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
    // Called before the transaction, so that a commit between the two ends the snapshot, which may contain it.
    this.#index?.remember();
    attempt(() => {
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
