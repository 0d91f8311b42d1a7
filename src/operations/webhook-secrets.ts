/** Secrets of webhooks (Standard Webhooks 1.0). Stores have them sealed. */
import type { RandomBytes } from '../domain/key.ts';

/** Encrypts and decrypts secrets for the store; without a key, both return the text unchanged. */
export interface Seal {
  readonly seal: (secret: string) => string;
  /** Throws when the key that sealed it is no longer known. */
  readonly open: (sealed: string) => string;
}

/** The standard allows 24 to 64 bytes. */
const secretBytes = 32;

export function makeWebhookSecret(randomBytes: RandomBytes): string {
  return `whsec_${Buffer.from(randomBytes(secretBytes)).toString('base64')}`;
}

/** The last member of a response that shows a secret. */
const secretMember = /,"secret":("(?:[^"\\]|\\.)*")\}$/;

/** Opens the secret of a response, as it was kept or just made. Its entity tag is that of the resource, which does not have it. */
export function revealed<Kept extends { readonly body: string | undefined }>(kept: Kept, { open }: Seal) {
  const body = kept.body ?? '';
  const [member, sealed] = secretMember.exec(body) ?? [];
  if (member === undefined) throw new Error('The response has no secret.');
  const rest = body.slice(0, -member.length);
  return {
    ...kept,
    body: `${rest},"secret":${JSON.stringify(open(JSON.parse(sealed ?? '')))}}`,
    tagged: `${rest}}`,
  };
}
