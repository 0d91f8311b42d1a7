/**
 * API keys (`ask_`), operator tokens (`aso_`) and the two secrets of a session (`ass_` in the cookie, `asp_` in the
 * page). Each consists of a prefix, 32 random base62 characters (190 bits) and a CRC-32 in 6 base62 characters. The
 * checksum allows typos to be rejected without a lookup, and secret scanners to recognize keys.
 */
import { crc32 } from 'node:zlib';

const prefixes = { key: 'ask_', token: 'aso_', session: 'ass_', page: 'asp_' } as const;
const secretLength = 32;
const checksumLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = /^[0-9A-Za-z]{38}$/;

type SecretKind = keyof typeof prefixes;

/** Returns random bytes from the system's random number generator. */
export type RandomBytes = (count: number) => Uint8Array;

/**
 * Creates a key or another kind of secret. Bytes of 248 and above are discarded, so that all characters are equally
 * likely.
 */
export function generateKey(randomBytes: RandomBytes, kind: SecretKind = 'key'): string {
  const prefix = prefixes[kind];
  let secret = '';
  while (secret.length < secretLength) {
    for (const byte of randomBytes(secretLength)) {
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  return prefix + secret + computeChecksum(prefix + secret);
}

/** Whether the text has the format and a valid checksum for this kind of secret. */
export function isWellFormedKey(text: string, kind: SecretKind = 'key'): boolean {
  const prefix = prefixes[kind];
  return (
    text.startsWith(prefix) &&
    form.test(text.slice(prefix.length)) &&
    text.endsWith(computeChecksum(text.slice(0, -checksumLength)))
  );
}

/** SHA-256 in hexadecimal, which is stored and looked up instead of the key. */
export function computeFingerprint(key: string): string {
  return Bun.SHA256.hash(key, 'hex');
}

/** The last four characters, the only part of a key that may be shown again. */
export function lastFour(key: string): string {
  return key.slice(-4);
}

function computeChecksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < checksumLength; index++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
