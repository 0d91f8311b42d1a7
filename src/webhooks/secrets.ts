/**
 * Encryption of stored webhook secrets. Without SECRETS_KEY, secrets are stored unencrypted. With SECRETS_KEY, secrets
 * are encrypted with AES-256-GCM and stored as `enc1:` followed by nonce, ciphertext and tag in base64.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomBytes } from '../domain/key.ts';

const algorithm = 'aes-256-gcm';
const prefix = 'enc1:';
const nonceBytes = 12;
const tagBytes = 16;

/** The keys in SECRETS_KEY, 32 bytes each. The first key is used for encryption, all keys for decryption. */
type SecretKeys = readonly Uint8Array[];

export class UndecryptableSecretError extends Error {}

export function encryptSecret(secret: string, [key]: SecretKeys, randomBytes: RandomBytes): string {
  if (key === undefined) return secret;
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return prefix + sealed.toString('base64');
}

/** Throws `UndecryptableSecretError` if no key can decrypt the secret. */
export function decryptSecret(stored: string, keys: SecretKeys): string {
  if (!stored.startsWith(prefix)) return stored;
  const secret = tryDecryptWithAny(stored, keys);
  if (secret !== undefined) return secret;
  throw new UndecryptableSecretError(
    keys.length === 0
      ? 'A webhook secret is encrypted, and SECRETS_KEY is not set. Set it to the key used to encrypt the secret.'
      : 'A webhook secret cannot be decrypted: it is damaged, or SECRETS_KEY does not include the key used to encrypt it.',
  );
}

/**
 * Re-encrypts a stored secret with the first key, unless it is already encrypted with that key. Returns undefined if no
 * key can decrypt the secret.
 */
export function reencryptSecret(
  stored: string,
  keys: SecretKeys,
  randomBytes: RandomBytes,
): string | undefined {
  const [first] = keys;
  const isSealed = stored.startsWith(prefix);
  if (first === undefined) return isSealed ? undefined : stored;
  if (isSealed && tryDecrypt(stored, first) !== undefined) return stored;
  const secret = isSealed ? tryDecryptWithAny(stored, keys) : stored;
  return secret === undefined ? undefined : encryptSecret(secret, keys, randomBytes);
}

function tryDecryptWithAny(stored: string, keys: SecretKeys): string | undefined {
  for (const key of keys) {
    const secret = tryDecrypt(stored, key);
    if (secret !== undefined) return secret;
  }
  return undefined;
}

function tryDecrypt(stored: string, key: Uint8Array): string | undefined {
  const sealed = Buffer.from(stored.slice(prefix.length), 'base64');
  if (sealed.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return (
      decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    );
  } catch {
    return undefined;
  }
}
