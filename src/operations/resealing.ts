/** Seals the secrets of webhooks again, after the keys have changed. */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { RowIn } from '../tables/table.ts';
import type { webhooks as table } from '../tables/webhooks.ts';
import type { Renewal } from './units/webhooks.ts';
import type { Store } from './units.ts';

/** Webhooks that are read, and changed, at once. */
const atOnce = 100;

/** The secret sealed as new ones are, or as it is if it is sealed like that; undefined if no key opens it. */
export type RenewSecret = (stored: string) => string | undefined;

/** Numbers of webhooks. */
export interface SealingReport {
  readonly all: number;
  readonly resealed: number;
  /** Those whose secrets no key opens: they cannot be signed. */
  readonly unreadable: number;
}

/** Rejects when it is aborted, between two batches. */
export async function resealSecrets(
  store: Pick<Store, 'webhooks' | 'write'>,
  renew: RenewSecret,
  signal: AbortSignal,
): Promise<SealingReport> {
  let [all, resealed, unreadable] = [0, 0, 0];
  for (let after: bigint | undefined; ; ) {
    const page = await store.webhooks.list(after, atOnce);
    all += page.length;
    unreadable += page.filter(({ secret }) => renew(secret) === undefined).length;
    const renewals = page.flatMap((webhook) => renewalsOf(webhook, renew));
    if (renewals.length > 0) resealed += await store.write('resealWebhooks', renewals);
    if (page.length < atOnce) return { all, resealed, unreadable };
    after = page.at(-1)?.id;
    // On an embedded store, reads are not asynchronous.
    await nextTick(undefined, { signal });
  }
}

function renewalsOf(
  { id, secret, formerSecret }: Pick<RowIn<typeof table>, 'id' | 'secret' | 'formerSecret'>,
  renew: RenewSecret,
): Renewal[] {
  const before = { secret, formerSecret };
  const after = {
    secret: renew(secret) ?? secret,
    formerSecret: formerSecret && (renew(formerSecret) ?? formerSecret),
  };
  const isSame = after.secret === secret && after.formerSecret === formerSecret;
  return isSame ? [] : [{ id, before, after }];
}
