import { Refusal } from '../contract/refusal.ts';

/** Creates and encrypts webhook secrets, which are stored only in encrypted form. */
export interface WebhookSecrets {
  /** Generates a secret in the Standard Webhooks format. */
  readonly make: () => string;
  readonly seal: (secret: string) => string;
  /** Throws if the key that encrypted the secret is no longer configured. */
  readonly open: (sealed: string) => string;
}

/** Matches the secret, which is the last member of the response. */
const secretMember = /,"secret":("(?:[^"\\]|\\.)*")\}$/;

/**
 * Decrypts the secret in a new or stored response. The entity tag does not cover the secret. Throws
 * `service_unavailable` if the key that encrypted the secret is no longer configured.
 */
export function revealed<Kept extends { readonly body: string | undefined }>(
  kept: Kept,
  { open }: WebhookSecrets,
) {
  const body = kept.body ?? '';
  const [member, sealed] = secretMember.exec(body) ?? [];
  if (member === undefined) throw new Error('The response has no secret.');
  const rest = body.slice(0, -member.length);
  const secret = JSON.stringify(opened(JSON.parse(sealed ?? ''), open));
  return { ...kept, body: `${rest},"secret":${secret}}`, tagged: `${rest}}` };
}

function opened(sealed: string, open: WebhookSecrets['open']): string {
  try {
    return open(sealed);
  } catch (cause) {
    const message =
      'The secret in this response cannot be decrypted. The webhook itself exists; rotate its secret to get a new one.';
    throw new Refusal('service_unavailable', { message, cause });
  }
}
