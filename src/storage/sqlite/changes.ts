import type { Database } from 'bun:sqlite';
import { attempt } from './database.ts';

/**
 * Counts the commits other processes (the command line) made to a file. SQLite is asked once per turn of the
 * event loop: requests that the kernel handed over together share one look.
 */
export class ForeignChanges {
  readonly #query;
  #asked = false;
  #seen = 0n;
  #count = 0;
  readonly #onChange: () => void;

  /** `onChange` is called when there were commits, before they are counted; what it throws, `count` throws. */
  constructor(database: Database, onChange: () => void) {
    this.#onChange = onChange;
    this.#query = database.query<{ data_version: bigint }, []>('PRAGMA data_version');
    this.#seen = this.#version();
  }

  /** Throws `StorageUnavailable` when the file cannot be looked at: what it says then may be outdated. */
  count(): number {
    if (this.#asked) return this.#count;
    const version = this.#version();
    if (version !== this.#seen) {
      this.#onChange();
      this.#seen = version;
      this.#count++;
    }
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
    });
    return this.#count;
  }

  #version(): bigint {
    return attempt(() => this.#query.get())?.data_version ?? 0n;
  }
}
