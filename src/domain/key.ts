/**
 * API keys (`ask_`), tokens of operators (`aso_`) and the two secrets of a session (`ass_` in the cookie, `asp_` in the page):
 * the prefix, 32 random base62 characters (190 bits) and 6 characters of CRC-32 in base62. The checksum lets a typo be refused without a look-up, and secret
 * scanners recognise each.
 */
import { crc32 } from 'node:zlib';

const prefixes = { key: 'ask_', token: 'aso_', session: 'ass_', page: 'asp_' } as const;
const secretLength = 32;
const checksumLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = /^[0-9A-Za-z]{38}$/;

type SecretKind = keyof typeof prefixes;

export type RandomBytes = (count: number) => Uint8Array;

/** Makes a new key, or a secret of another kind. Bytes of 248 and above are thrown away, so that every character is equally likely. */
export function makeKey(randomBytes: RandomBytes, kind: SecretKind = 'key'): string {
  const prefix = prefixes[kind];
  let secret = '';
  while (secret.length < secretLength) {
    for (const byte of randomBytes(secretLength)) {
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  return prefix + secret + checksum(prefix + secret);
}

/** Whether the text has the form of a key, or of a secret of another kind, and its checksum fits. */
export function isWellFormedKey(text: string, kind: SecretKind = 'key'): boolean {
  const prefix = prefixes[kind];
  return (
    text.startsWith(prefix) &&
    form.test(text.slice(prefix.length)) &&
    text.endsWith(checksum(text.slice(0, -checksumLength)))
  );
}

/** SHA-256 in hexadecimal: what is stored and looked up in the key's stead. */
export function fingerprint(key: string): string {
  return Bun.SHA256.hash(key, 'hex');
}

/** The part of a key that may be shown again. */
export function lastFour(key: string): string {
  return key.slice(-4);
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < checksumLength; index++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
