import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';

const goodForMs = 600_000;
/** 192 bits. */
const codeBytes = 24;

/** The code of the console link: good for ten minutes, and for one sign-in. Only its SHA-256 is held. */
export class OneTimeCode {
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  #made: { readonly digest: Buffer; readonly goodUntil: number } | undefined;

  constructor(clock: Clock, randomBytes: RandomBytes) {
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  make(): string {
    const code = Buffer.from(this.#randomBytes(codeBytes)).toString('base64url');
    this.#made = { digest: digestOf(code), goodUntil: this.#clock.now() + goodForMs };
    return code;
  }

  /** Whether this is the code. Then it is used up. Takes as long whatever the text has in common with it. */
  redeem(text: string): boolean {
    const made = this.#made;
    if (made === undefined || this.#clock.now() >= made.goodUntil) return false;
    if (!timingSafeEqual(digestOf(text), made.digest)) return false;
    this.#made = undefined;
    return true;
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
