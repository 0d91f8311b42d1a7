/** Bits in the set: 1 MiB. With 100,000 keys it errs about 5 times in a million, with a million keys twice in a hundred. */
const bits = 2 ** 23;
/** Where in a fingerprint its places begin; each is as long as a 32-bit number in hexadecimal. */
const places = [0, 8, 16, 24] as const;
const placeLength = 8;

/**
 * A set of fingerprints in constant memory (a Bloom filter): what was added is always found in it, and hardly anything
 * else. Fingerprints are random already, so their own digits say where they stand; nothing is hashed again.
 */
export class FingerprintSet {
  readonly #words = new Uint32Array(bits / 32);

  add(fingerprint: string): void {
    for (const place of places) {
      const bit = bitOf(fingerprint, place);
      this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  mayHave(fingerprint: string): boolean {
    return places.every((place) => {
      const bit = bitOf(fingerprint, place);
      return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
    });
  }

  clear(): void {
    this.#words.fill(0);
  }
}

function bitOf(fingerprint: string, place: number): number {
  return Number.parseInt(fingerprint.slice(place, place + placeLength), 16) % bits;
}
