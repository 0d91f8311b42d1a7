import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';

const validForMs = 600_000;
/** 192 bits. */
const codeBytes = 24;

/** The code of a console link, valid for ten minutes and one sign-in. Only its SHA-256 is kept. */
export class OneTimeCode {
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  #made: { readonly digest: Buffer; readonly validUntil: number } | undefined;

  constructor(clock: Clock, randomBytes: RandomBytes) {
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  create(): string {
    const code = Buffer.from(this.#randomBytes(codeBytes)).toString('base64url');
    this.#made = { digest: sha256(code), validUntil: this.#clock.steady() + validForMs };
    return code;
  }

  /** Redeems the code and returns true if the text matches. Compares in constant time. */
  redeem(text: string): boolean {
    const made = this.#made;
    if (made === undefined || this.#clock.steady() >= made.validUntil) return false;
    if (!timingSafeEqual(sha256(text), made.digest)) return false;
    this.#made = undefined;
    return true;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
