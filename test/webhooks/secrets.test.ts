import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import {
  decryptSecret,
  encryptSecret,
  reencryptSecret,
  UndecryptableSecretError,
} from '../../src/webhooks/secrets.ts';
import { randomFrom } from '../support/random.ts';

const random = randomFrom(24);
const someBytes = (count: number) => Uint8Array.from({ length: count }, () => random() * 256);
const [before, after] = [someBytes(32), someBytes(32)];
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const seal = (...keys: Uint8Array[]) => encryptSecret(secret, keys, someBytes);

test('a webhook secret is stored unencrypted if SECRETS_KEY is not set', () => {
  expect(seal()).toBe(secret);
  expect(decryptSecret(secret, [])).toBe(secret);
  expect(decryptSecret(secret, [before])).toBe(secret);
});

describe('with SECRETS_KEY, a webhook secret', () => {
  test('is stored encrypted, differently each time, and can be decrypted', () => {
    const stored = seal(before);
    expect(stored).toMatch(/^enc1:[A-Za-z0-9+/=]+$/);
    expect(Buffer.from(stored.slice(5), 'base64').includes(secret.slice(6, 16))).toBe(false);
    expect(stored).not.toBe(seal(before));
    expect(decryptSecret(stored, [before])).toBe(secret);
  });

  test('is encrypted with the first key, and can be decrypted regardless of which key encrypted it', () => {
    const [old, current] = [seal(before), seal(after, before)];
    for (const stored of [old, current]) expect(decryptSecret(stored, [after, before])).toBe(secret);
    expect(decryptSecret(current, [after])).toBe(secret);
  });

  test('is re-encrypted with the first key, unless it is already encrypted with that key', () => {
    const [old, current] = [seal(before), seal(after, before)];
    const renew = (stored: string, ...keys: Uint8Array[]) => reencryptSecret(stored, keys, someBytes);
    for (const stored of [old, secret])
      expect(decryptSecret(renew(stored, after, before) ?? '', [after])).toBe(secret);
    expect(renew(current, after, before)).toBe(current);
    expect([renew(old, after), renew(old)]).toEqual([undefined, undefined]);
    expect(renew(secret)).toBe(secret);
  });

  test('cannot be decrypted with a different key, without a key, or if it was changed or truncated', () => {
    const stored = seal(before);
    const sealed = Buffer.from(stored.slice(5), 'base64');
    expect(() => decryptSecret(stored, [])).toThrow('SECRETS_KEY is not set');
    expect(() => decryptSecret(stored, [after])).toThrow(UndecryptableSecretError);
    for (const index of sealed.keys()) {
      const changed = sealed.with(index, (sealed[index] ?? 0) ^ 1);
      for (const damaged of [changed, sealed.subarray(0, index)]) {
        const text = `enc1:${Buffer.from(damaged).toString('base64')}`;
        expect(() => decryptSecret(text, [before])).toThrow(UndecryptableSecretError);
      }
    }
  });
});

test('SECRETS_KEY accepts one or two keys', () => {
  const texts = [before, after].map((key) => Buffer.from(key).toString('base64'));
  const keysOf = (text: string) =>
    readConfig({ SECRETS_KEY: text }).webhooks.secretsKeys.map((key) => new Uint8Array(key));
  expect([keysOf(''), keysOf(texts.slice(0, 1).join()), keysOf(texts.join(', '))]).toEqual([
    [],
    [before],
    [before, after],
  ]);
});
