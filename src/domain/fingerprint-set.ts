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
