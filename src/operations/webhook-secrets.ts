import { ApiError } from '../contract/api-error.ts';
import { readInBatches } from './read-in-batches.ts';
import type { StoredWebhook } from './resources/webhooks.ts';
import type { ReencryptedSecrets } from './units/webhooks.ts';
import type { Store } from './units.ts';

/** Creates and encrypts webhook secrets, which are stored only in encrypted form. */
export interface WebhookSecrets {
  /** Generates a secret in the Standard Webhooks format. */
  readonly generate: () => string;
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
export function revealSecret<Kept extends { readonly body: string | undefined }>(
  response: Kept,
  { open }: WebhookSecrets,
) {
  const body = response.body ?? '';
  const [member, sealed] = secretMember.exec(body) ?? [];
  if (member === undefined) throw new Error('The response has no secret.');
  const rest = body.slice(0, -member.length);
  const secret = JSON.stringify(decryptSecret(JSON.parse(sealed ?? ''), open));
  return { ...response, body: `${rest},"secret":${secret}}`, tagged: `${rest}}` };
}

function decryptSecret(sealed: string, open: WebhookSecrets['open']): string {
  try {
    return open(sealed);
  } catch (cause) {
    const message =
      'The secret in this response cannot be decrypted. The webhook itself exists; rotate its secret to get a new one.';
    throw new ApiError('service_unavailable', { message, cause });
  }
}

/** Number of webhooks per batch. */
const batchSize = 100;

/**
 * Re-encrypts a secret with the first key. Returns it unchanged if that key was already used, and undefined if no key
 * can decrypt it.
 */
export type ReencryptSecret = (stored: string) => string | undefined;

/** Number of webhooks by result. */
export interface ReencryptionReport {
  readonly all: number;
  readonly resealed: number;
  /** Number of webhooks whose secrets no configured key can decrypt. Their deliveries cannot be signed. */
  readonly unreadable: number;
}

/** Re-encrypts all webhook secrets. Rejects between batches if the signal is aborted. */
export async function reencryptSecrets(
  store: Pick<Store, 'webhooks' | 'write'>,
  renew: ReencryptSecret,
  signal: AbortSignal,
): Promise<ReencryptionReport> {
  let [all, resealed, unreadable] = [0, 0, 0];
  for await (const page of readWebhooks(store)) {
    signal.throwIfAborted();
    all += page.length;
    unreadable += countUndecryptableIn(page, renew);
    const renewals = page.flatMap((webhook) => reencryptWebhook(webhook, renew));
    if (renewals.length > 0) resealed += await store.write('resealWebhooks', renewals);
  }
  return { all, resealed, unreadable };
}

/** Number of webhooks whose secrets cannot be decrypted with any configured key. */
export async function countUndecryptable(
  store: Pick<Store, 'webhooks'>,
  renew: ReencryptSecret,
): Promise<number> {
  let unreadable = 0;
  for await (const page of readWebhooks(store)) unreadable += countUndecryptableIn(page, renew);
  return unreadable;
}

type Webhook = Pick<StoredWebhook, 'id' | 'secret' | 'formerSecret'>;

const readWebhooks = ({ webhooks }: Pick<Store, 'webhooks'>) =>
  readInBatches<Webhook>(batchSize, (last) => webhooks.list(last?.id, batchSize));

function countUndecryptableIn(page: readonly Webhook[], renew: ReencryptSecret): number {
  return page.filter(({ secret }) => renew(secret) === undefined).length;
}

function reencryptWebhook(
  { id, secret, formerSecret }: Webhook,
  renew: ReencryptSecret,
): ReencryptedSecrets[] {
  const before = { secret, formerSecret };
  const after = {
    secret: renew(secret) ?? secret,
    formerSecret: formerSecret && (renew(formerSecret) ?? formerSecret),
  };
  const isSame = after.secret === secret && after.formerSecret === formerSecret;
  return isSame ? [] : [{ id, before, after }];
}
