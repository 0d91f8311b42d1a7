/** The secrets of webhooks, which stores have sealed. */
export interface WebhookSecrets {
  /** Makes a new secret, in the form of Standard Webhooks. */
  readonly make: () => string;
  readonly seal: (secret: string) => string;
  /** Throws when the key that sealed it is no longer known. */
  readonly open: (sealed: string) => string;
}

/** The last member of a response that shows a secret. */
const secretMember = /,"secret":("(?:[^"\\]|\\.)*")\}$/;

/** Opens the secret of a response, as it was kept or just made. Its entity tag is that of the resource, without the secret. */
export function revealed<Kept extends { readonly body: string | undefined }>(
  kept: Kept,
  { open }: WebhookSecrets,
) {
  const body = kept.body ?? '';
  const [member, sealed] = secretMember.exec(body) ?? [];
  if (member === undefined) throw new Error('The response has no secret.');
  const rest = body.slice(0, -member.length);
  const secret = JSON.stringify(open(JSON.parse(sealed ?? '')));
  return { ...kept, body: `${rest},"secret":${secret}}`, tagged: `${rest}}` };
}
