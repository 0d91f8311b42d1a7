/** Re-encrypts webhook secrets after the keys in SECRETS_KEY have changed. */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { RowIn } from '../tables/table.ts';
import type { webhooks as table } from '../tables/webhooks.ts';
import type { Renewal } from './units/webhooks.ts';
import type { Store } from './units.ts';

/** Number of webhooks per batch. */
const atOnce = 100;

/**
 * Re-encrypts a secret with the first key. Returns it unchanged if that key was already used, and undefined if no key
 * can decrypt it.
 */
export type RenewSecret = (stored: string) => string | undefined;

/** Number of webhooks by result. */
export interface SealingReport {
  readonly all: number;
  readonly resealed: number;
  /** Number of webhooks whose secrets no configured key can decrypt. Their deliveries cannot be signed. */
  readonly unreadable: number;
}

/** Re-encrypts all webhook secrets. Rejects between batches if the signal is aborted. */
export async function resealSecrets(
  store: Pick<Store, 'webhooks' | 'write'>,
  renew: RenewSecret,
  signal: AbortSignal,
): Promise<SealingReport> {
  let [all, resealed, unreadable] = [0, 0, 0];
  for await (const page of pagesOf(store, signal)) {
    all += page.length;
    unreadable += unreadableIn(page, renew);
    const renewals = page.flatMap((webhook) => renewalsOf(webhook, renew));
    if (renewals.length > 0) resealed += await store.write('resealWebhooks', renewals);
  }
  return { all, resealed, unreadable };
}

/** Number of webhooks whose secrets cannot be decrypted with any configured key. */
export async function countUnreadable(store: Pick<Store, 'webhooks'>, renew: RenewSecret): Promise<number> {
  let unreadable = 0;
  for await (const page of pagesOf(store)) unreadable += unreadableIn(page, renew);
  return unreadable;
}

type Webhook = Pick<RowIn<typeof table>, 'id' | 'secret' | 'formerSecret'>;

async function* pagesOf(
  { webhooks }: Pick<Store, 'webhooks'>,
  signal?: AbortSignal,
): AsyncGenerator<readonly Webhook[]> {
  for (let after: bigint | undefined; ; ) {
    const page = await webhooks.list(after, atOnce);
    yield page;
    if (page.length < atOnce) return;
    after = page.at(-1)?.id;
    // Reads of an embedded store are synchronous, so other work must get a chance to run.
    await nextTick(undefined, { signal });
  }
}

function unreadableIn(page: readonly Webhook[], renew: RenewSecret): number {
  return page.filter(({ secret }) => renew(secret) === undefined).length;
}

function renewalsOf({ id, secret, formerSecret }: Webhook, renew: RenewSecret): Renewal[] {
  const before = { secret, formerSecret };
  const after = {
    secret: renew(secret) ?? secret,
    formerSecret: formerSecret && (renew(formerSecret) ?? formerSecret),
  };
  const isSame = after.secret === secret && after.formerSecret === formerSecret;
  return isSame ? [] : [{ id, before, after }];
}
