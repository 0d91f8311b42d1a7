import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { FingerprintSet } from '../../domain/fingerprint-set.ts';
import type { KeyFingerprint, KeyStore } from '../../storage/storage.ts';

/** Number of keys per read. Requests are served between reads. */
const pageSize = 1_000;

/**
 * Fingerprints of all keys ever created, so that unknown keys put no load on the store, no matter how many addresses
 * they are sent from. A valid key is never classified as unknown. Keys are never deleted and their ids ascend, so only
 * new keys are read after callers change.
 */
export class KnownKeys {
  readonly #keys: Pick<KeyStore, 'fingerprints'>;
  readonly #set = new FingerprintSet();
  #last: KeyFingerprint | undefined;
  #reading: Promise<void> | undefined;
  /** The version of callers up to which all keys are in the set; undefined until all keys have been read. */
  version: number | undefined;

  constructor(keys: Pick<KeyStore, 'fingerprints'>) {
    this.#keys = keys;
  }

  mayHave(fingerprint: string): boolean {
    return this.#set.mayHave(fingerprint);
  }

  /** Reads new keys. Concurrent calls share a read, so afterwards `this.version` may still be older than requested. */
  read(version: number): Awaitable<void> {
    if (this.#reading !== undefined) return this.#reading;
    const reading = this.#readNextPage(version);
    if (!(reading instanceof Promise)) return;
    this.#reading = reading.finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Starts a read without waiting for it. After a failure, the next call tries again. */
  begin(version: number): void {
    const reading = this.read(version);
    if (reading instanceof Promise) reading.catch(() => undefined);
  }

  #readNextPage(version: number): Awaitable<void> {
    return andThen(this.#keys.fingerprints(this.#last?.id ?? 0, pageSize), (page) => {
      if (this.#last !== undefined && page[0]?.fingerprint !== this.#last.fingerprint) {
        // The store was restored to an earlier state while it was open, so ids are being reassigned.
        this.#set.clear();
        this.#last = undefined;
        return this.#readNextPage(version);
      }
      for (const { fingerprint } of page) this.#set.add(fingerprint);
      this.#last = page.at(-1);
      if (page.length === pageSize) return nextTurn().then(() => this.#readNextPage(version));
      this.version = version;
    });
  }
}
