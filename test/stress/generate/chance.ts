import { randomFrom } from '../../support/random.ts';

/** Random choices that depend only on the seed and the case number, so that a single case can be repeated. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number, index: number) {
    // The two multiplications decorrelate neighboring seeds and cases.
    this.#random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  }

  /** A random integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number {
    return min + Math.floor(this.#random() * (max - min + 1));
  }

  /** Returns true with the given probability, from 0 to 1. */
  often(part: number): boolean {
    return this.#random() < part;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.int(0, values.length - 1)] as T;
  }

  shuffled<T>(values: readonly T[]): T[] {
    const left = [...values];
    return values.map(() => left.splice(this.int(0, left.length - 1), 1)[0] as T);
  }

  /** A uniformly distributed int64. */
  bits64(): bigint {
    const half = () => BigInt(this.int(0, 0xffff_ffff));
    return BigInt.asIntN(64, (half() << 32n) | half());
  }
}
