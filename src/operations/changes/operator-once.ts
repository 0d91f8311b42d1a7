import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import type { RandomBytes } from '../../domain/key.ts';

/**
 * Minimum length of an operator's `Idempotency-Key`, which must be hard to guess: the length of a UUID without hyphens.
 */
export const minKeyLength = 32;

const saltBytes = 16;
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

interface OperatorOnceOptions {
  readonly idempotencyKey: string;
  readonly actor: string;
  readonly request: string;
  readonly randomBytes: RandomBytes;
}

/**
 * An operator's request that is applied exactly once, however often it is retried (`Idempotency-Key`). A secret issued
 * in response to the request is encrypted with a key derived from the `Idempotency-Key`. Only a hash of the
 * `Idempotency-Key` is stored, so the secret can be read only by the same operator, by repeating the request.
 */
export class OperatorOnce {
  readonly key: string;
  readonly request: string;
  isReplayed = false;
  readonly #options: OperatorOnceOptions;

  constructor(options: OperatorOnceOptions) {
    const { actor, idempotencyKey, request } = options;
    this.#options = options;
    this.key = createHash('sha256').update(`${actor}\n${idempotencyKey}`).digest('hex');
    this.request = request;
  }

  seal(secret: string): string {
    const salt = this.#options.randomBytes(saltBytes);
    const { key, iv } = this.#derived(salt);
    const encryption = createCipheriv(cipher, key, iv);
    const sealed = [encryption.update(secret, 'utf8'), encryption.final()];
    return Buffer.concat([salt, encryption.getAuthTag(), ...sealed]).toString('base64url');
  }

  /** Throws if the secret was encrypted by a different request. */
  open(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64url');
    const { key, iv } = this.#derived(bytes.subarray(0, saltBytes));
    const decryption = createDecipheriv(cipher, key, iv);
    decryption.setAuthTag(bytes.subarray(saltBytes, saltBytes + tagBytes));
    return (
      decryption.update(bytes.subarray(saltBytes + tagBytes), undefined, 'utf8') + decryption.final('utf8')
    );
  }

  /** Each salt yields a different key, so the initialization vector can be derived from the salt as well. */
  #derived(salt: Uint8Array): { key: Buffer; iv: Buffer } {
    const { idempotencyKey, actor, request } = this.#options;
    const info = `animal-store operator-once\n${actor}\n${request}`;
    const derived = Buffer.from(hkdfSync('sha256', idempotencyKey, salt, info, keyBytes + ivBytes));
    return { key: derived.subarray(0, keyBytes), iv: derived.subarray(keyBytes) };
  }
}
