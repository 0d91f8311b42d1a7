import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { FingerprintSet } from '../../domain/fingerprint-set.ts';
import type { KeyFingerprint, KeyStore } from '../../storage/storage.ts';

/** Keys read at once; requests are served in between. */
const pageSize = 1_000;

/**
 * Which keys were ever made, so that made-up keys need no look-up and cost the store nothing, from however many addresses
 * they come. A valid key is never taken for a made-up one. Keys are never deleted and their ids rise, so after a change of
 * callers only the new ones are read.
 */
export class KnownKeys {
  readonly #keys: Pick<KeyStore, 'fingerprints'>;
  readonly #set = new FingerprintSet();
  #last: KeyFingerprint | undefined;
  #reading: Promise<void> | undefined;
  /** The version of callers under which all keys are known; undefined until they were read. */
  version: number | undefined;

  constructor(keys: Pick<KeyStore, 'fingerprints'>) {
    this.#keys = keys;
  }

  mayHave(fingerprint: string): boolean {
    return this.#set.mayHave(fingerprint);
  }

  /** Reads the keys made since. Callers share a read in progress; `version` may be older than this one afterwards. */
  read(version: number): Awaitable<void> {
    if (this.#reading !== undefined) return this.#reading;
    const reading = this.#readOn(version);
    if (!(reading instanceof Promise)) return;
    this.#reading = reading.finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Begins to read without waiting; after a failure, the next caller tries again. */
  begin(version: number): void {
    const reading = this.read(version);
    if (reading instanceof Promise) reading.catch(() => undefined);
  }

  #readOn(version: number): Awaitable<void> {
    return andThen(this.#keys.fingerprints(this.#last?.id ?? 0, pageSize), (page) => {
      if (this.#last !== undefined && page[0]?.fingerprint !== this.#last.fingerprint) {
        // The store was restored to an earlier state while open: its ids are assigned again.
        this.#set.clear();
        this.#last = undefined;
        return this.#readOn(version);
      }
      for (const { fingerprint } of page) this.#set.add(fingerprint);
      this.#last = page.at(-1);
      if (page.length === pageSize) return nextTurn().then(() => this.#readOn(version));
      this.version = version;
    });
  }
}
