import type { Account, Ban, Key } from '../storage/storage.ts';
import { entryOf, type OperatorContext } from './by-operator.ts';
import { notFound } from './not-found.ts';
import { iso } from './shown.ts';

/** A ban, and whose it is. */
export interface KeyBan {
  readonly keyId: number;
  readonly keyName: string;
  readonly keyLastFour: string;
  readonly accountId: number;
  readonly accountName: string;
  /** Unix ms. */
  readonly bannedUntil: number;
  readonly level: number;
  /** Why, in a sentence. */
  readonly reason: string;
}

/** Temporary bans of keys. */
export class BanOperations {
  readonly #context: OperatorContext;

  constructor(context: OperatorContext) {
    this.#context = context;
  }

  /** All that last, those that end first in front. */
  async list(): Promise<KeyBan[]> {
    const { store } = this.#context;
    const bans = await store.limits.bans();
    const keys = byId(await store.keys.findMany(bans.map(({ keyId }) => keyId)));
    const accountIds = new Set([...keys.values()].map(({ accountId }) => accountId));
    const accounts = byId(await store.accounts.findMany([...accountIds]));
    return bans
      .flatMap((ban) => {
        const key = keys.get(ban.keyId);
        const account = key && accounts.get(key.accountId);
        // Counts of a store that was put back may know keys that it does not have.
        return key === undefined || account === undefined ? [] : [told(ban, key, account)];
      })
      .sort((one, other) => one.bannedUntil - other.bannedUntil || one.keyId - other.keyId);
  }

  /**
   * Ends a key's ban, and forgets its strikes and level. Refuses `ban_not_found`. Bans are not where the audit log is, so no
   * transaction has both: that it is asked for is recorded first, and that it was done afterwards. If the process ends in
   * between, the log has the first entry alone, and the list of bans tells whether it was done.
   */
  async lift(keyId: number): Promise<void> {
    const { limits } = this.#context.store;
    const ban = (await limits.bans()).find((one) => one.keyId === keyId);
    if (ban === undefined) throw notFound('ban_not_found', keyId);
    const before = JSON.stringify({ bannedUntil: iso(ban.bannedUntil * 1_000), level: ban.level });
    await this.#record('beginLiftBan', keyId, before, before);
    if (!(await limits.lift(keyId))) throw notFound('ban_not_found', keyId);
    await this.#record('liftBan', keyId, before, null);
  }

  async #record(operation: string, keyId: number, before: string, after: string | null): Promise<void> {
    const entry = entryOf(this.#context, { operation, object: `key:${keyId}`, before, after });
    await this.#context.store.write('recordAudit', entry);
  }
}

function told({ keyId, bannedUntil, level }: Ban, key: Key, account: Account): KeyBan {
  const { id: accountId, name: accountName } = account;
  const reason = reasonOf(level);
  return {
    keyId,
    keyName: key.name,
    keyLastFour: key.lastFour,
    accountId,
    accountName,
    bannedUntil: bannedUntil * 1_000,
    level,
    reason,
  };
}

function reasonOf(level: number): string {
  const what = 'It kept sending requests after 429 instead of waiting for Retry-After';
  if (level === 0) return `${what}.`;
  return `${what}, again after ${level === 1 ? 'an earlier ban' : `${level} earlier bans`}.`;
}

function byId<Item extends { readonly id: number }>(items: readonly Item[]): ReadonlyMap<number, Item> {
  return new Map(items.map((item) => [item.id, item]));
}
