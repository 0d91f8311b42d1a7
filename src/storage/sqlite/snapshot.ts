import type { Database } from 'bun:sqlite';
import type { Resource, Versions } from '../../domain/resources.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

/**
 * The data file as one turn of the event loop reads it. All reads of a turn share one snapshot: requests that the kernel
 * handed over together share the look for changes and the lock, which cost more than most reads. It ends with the turn,
 * for a log that is being read cannot be taken up anew.
 */
export class Snapshot implements Disposable {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #begin;
  readonly #end;
  readonly #dataVersion;
  readonly #select;
  #isOpen = false;
  /** Moves when another connection, of whichever process, has committed. */
  #seen: bigint | undefined;
  #versions: Versions = { callers: 0, pets: 0, orders: 0, categories: 0 };

  /** Reads on the connection, which is nobody else's. */
  constructor(database: Database, format: FormatWatch) {
    this.#database = database;
    this.#format = format;
    this.#begin = database.query('BEGIN');
    this.#end = database.query('ROLLBACK');
    this.#dataVersion = database.query<{ data_version: bigint }, []>('PRAGMA data_version');
    this.#select = database.query<{ resource: Resource; version: bigint }, []>(
      'SELECT resource, version FROM versions',
    );
  }

  /** Reads something. Throws `StorageUnavailable` when it cannot be read. */
  read<T>(work: () => T): T {
    this.#open();
    return attempt(work, this.#format);
  }

  /**
   * The versions in this turn. Throws `StorageUnavailable` when the file cannot be looked at, for what is held of it may
   * be outdated then, and when its format is not the one this process knows.
   */
  versions(): Versions {
    this.#open();
    this.#format.check();
    return this.#versions;
  }

  /** What was committed until now is seen from here on, in this turn already. */
  renew(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A read that the disk failed has ended it already.
    if (this.#database.inTransaction) this.#end.run();
  }

  [Symbol.dispose](): void {
    this.renew();
  }

  #open(): void {
    if (this.#isOpen) return;
    attempt(() => {
      this.#begin.run();
      this.#isOpen = true;
      try {
        this.#look();
      } catch (error) {
        this.renew();
        throw error;
      }
    });
    setImmediate(() => this.renew());
  }

  #look(): void {
    const version = this.#dataVersion.get()?.data_version;
    if (version === this.#seen) return;
    this.#format.look();
    // A file of another format has perhaps no versions.
    if (this.#format.trouble === undefined) {
      const found = this.#select.all().map(({ resource, version: at }) => [resource, Number(at)]);
      this.#versions = Object.fromEntries(found);
    }
    this.#seen = version;
  }
}
