import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
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

/**
 * Number of bits in the set, which takes 1 MiB. The false positive rate is about 5 in a million with 100,000 keys, and
 * 2% with a million.
 */
const bits = 2 ** 23;
/** Character offsets of the bit positions in a fingerprint. Each position is a 32-bit number in hexadecimal. */
const places = [0, 8, 16, 24] as const;
const placeLength = 8;

/**
 * A set of fingerprints in constant memory (a Bloom filter). False positives are possible; false negatives are not.
 * Fingerprints are random, so their digits serve as bit positions without further hashing.
 */
export class FingerprintSet {
  readonly #words = new Uint32Array(bits / 32);

  add(fingerprint: string): void {
    for (const place of places) {
      const bit = bitPosition(fingerprint, place);
      this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  mayHave(fingerprint: string): boolean {
    return places.every((place) => {
      const bit = bitPosition(fingerprint, place);
      return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
    });
  }

  clear(): void {
    this.#words.fill(0);
  }
}

function bitPosition(fingerprint: string, place: number): number {
  return Number.parseInt(fingerprint.slice(place, place + placeLength), 16) % bits;
}
