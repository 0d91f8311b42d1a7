/** Length of the first copy of the header (sqlite.org/walformat.html section 2.1), in 32-bit words. */
const headerWords = 12;

/**
 * Notices commits of other processes in the header of the file's WAL-index, which SQLite changes before a reader can
 * see the commit. Comparing it takes a fiftieth of the time of SQLite's own check, `PRAGMA data_version`.
 */
export class WalIndex {
  readonly #header: Int32Array;
  readonly #seen = new Int32Array(headerWords);

  /**
   * `dataFile` is open in another process, and not yet in this one: closing any descriptor of the index would release
   * the locks that SQLite has on it (sqlite.org/howtocorrupt.html section 2.2). Throws if the index does not exist.
   */
  constructor(dataFile: string) {
    this.#header = new Int32Array(Bun.mmap(`${dataFile}-shm`, { shared: true }).buffer, 0, headerWords);
  }

  /** Records the current state, with which `hasChanged` compares. */
  remember(): void {
    this.#seen.set(this.#header);
  }

  /** Whether there may have been a commit since `remember`. */
  get hasChanged(): boolean {
    for (let word = 0; word < headerWords; word++) if (this.#header[word] !== this.#seen[word]) return true;
    return false;
  }
}
