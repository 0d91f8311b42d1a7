import { randomFrom } from '../../support/random.ts';

/** Random choices determined by seed and case, so that a single case can be repeated. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number, index: number) {
    // Two multiplications make neighboring cases and seeds independent.
    this.#random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.#random() * (max - min + 1));
  }

  /** True with this probability, from 0 to 1. */
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

  /** 64 random bits as an int64. */
  bits64(): bigint {
    const half = () => BigInt(this.int(0, 0xffff_ffff));
    return BigInt.asIntN(64, (half() << 32n) | half());
  }
}
