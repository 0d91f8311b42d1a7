import { Refusal } from '../contract/refusal.ts';

/** The secrets of webhooks, which stores have sealed. */
export interface WebhookSecrets {
  /** Generates a secret in the form of Standard Webhooks. */
  readonly make: () => string;
  readonly seal: (secret: string) => string;
  /** Throws if the key that sealed it is no longer known. */
  readonly open: (sealed: string) => string;
}

/** The last member of a response that shows a secret. */
const secretMember = /,"secret":("(?:[^"\\]|\\.)*")\}$/;

/**
 * Decrypts the secret of a new or stored response. Its entity tag is the tag of the resource without the secret.
 * Refuses `service_unavailable` for a stored response whose key is no longer configured.
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
      'The secret in this response cannot be decrypted. The webhook exists: rotate its secret to get a new one.';
    throw new Refusal('service_unavailable', { message, cause });
  }
}
