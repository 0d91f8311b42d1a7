import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import { type KeyPenalty, unused } from '../../domain/limit.ts';
import type { AccountBan } from '../limit-snapshots.ts';
import { type Ban, type Caller, StorageUnavailable } from '../storage.ts';
import type { RedisContext } from './context.ts';
import { NoAnswer } from './link.ts';
import type { Held, Unreported } from './local-limits.ts';
import type { AccountSnapshot } from './snapshot-store.ts';

/** Most cached keys, and most bans to be reported to Redis. */
const mostHeld = 100_000;
const recalledForMs = 1_000;

const reportGroup = 500;
/** How often bans are read, if callers change meanwhile. */
const mostReadings = 4;
const anyVersion = -1;

/** How often a script is run for an account that Redis does not know. */
export const mostTries = 4;

/** Redis did not know an account although it was restored several times. */
export function discarding(): StorageUnavailable {
  return new StorageUnavailable('Redis discards account data as soon as it is written');
}

const nothing: Unreported = { count: 0, doubts: [] };

export class Reconciliation {
  readonly #context: RedisContext;
  readonly #reconciling = new Map<number, Promise<void>>();
  readonly #recalling = new Map<number, Promise<void>>();
  readonly #recalledAt = new LRUCache<number, number>(atMost(mostHeld));
  readonly #unreportedBans = new LRUCache<number, AccountBan>(atMost(mostHeld));

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Restores an account that Redis lacks. Rejects with `StorageUnavailable`; the next request tries again. */
  reconcile(accountId: number): Promise<void> {
    return once(this.#reconciling, accountId, () => this.#reconcile(accountId));
  }

  /**
   * Reads the snapshot of a caller into the local limits, unless it did a moment ago: another instance may have banned
   * the key or lifted its ban. If that fails, the local state counts; rejects with `StorageUnavailable` if there is
   * none.
   */
  async recall(caller: Caller): Promise<void> {
    const recalledAt = this.#recalledAt.get(caller.keyId) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - recalledAt < recalledForMs) return;
    try {
      await once(this.#recalling, caller.keyId, () => this.#recall(caller));
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (!this.#context.localLimits.knows(caller.accountId)) throw error;
    }
  }

  /** Reports what was counted here of an account before its next command: a connection runs commands in order. */
  reportFirst(accountId: number): void {
    if (this.#context.localLimits.isUnreported(accountId)) void this.reportAccount(accountId);
  }

  /** Reports to Redis what was counted here; false if Redis has no state of the account to add it to. */
  async reportAccount(accountId: number): Promise<boolean> {
    const { localLimits, nextNumber } = this.#context;
    const held = localLimits.takeUnreported(accountId);
    if (held === undefined) return true;
    const number = nextNumber();
    try {
      if ((await this.#restore(accountId, held, number)) === 1) return true;
      localLimits.putBackUnreported(accountId, held, undefined);
      return false;
    } catch (error) {
      localLimits.putBackUnreported(accountId, held, error instanceof NoAnswer ? number : undefined);
      return true;
    }
  }

  async reportAll(): Promise<void> {
    await Promise.all([...this.#unreportedBans.values()].map((ban) => this.#reportBan(ban)));
    const unreported = this.#context.localLimits.unreported();
    while (unreported.length > 0) {
      const group = unreported.splice(0, reportGroup).map(async (accountId) => {
        if (!(await this.reportAccount(accountId))) await this.reconcile(accountId);
      });
      // What fails now is reported with the next request of the account.
      await Promise.allSettled(group);
    }
  }

  /** Saves a ban as a snapshot. One that Redis did not decide is reported to it later. */
  saveBan(
    { keyId, accountId }: Caller,
    { bannedUntil, banLevel: level }: Omit<KeyPenalty, 'strikes'>,
    decidedBy: 'redis' | 'fallback',
  ): void {
    const ban = { keyId, accountId, bannedUntil, level };
    if (decidedBy === 'fallback') this.#unreportedBans.set(keyId, ban);
    this.#context.snapshotStore.saveBan(ban);
  }

  /** Reports a ban unless it was lifted: then it has no snapshot. */
  async #reportBan(ban: AccountBan): Promise<void> {
    const { accountId, keyId } = ban;
    this.#unreportedBans.delete(keyId);
    try {
      const known = await this.#context.snapshotStore.find(accountId).catch(() => undefined);
      if (known?.bans.some((one) => one.keyId === keyId) === false) return;
      await this.#restoreBan(accountId, ban, anyVersion);
    } catch {
      this.#unreportedBans.set(keyId, ban);
    }
  }

  async #reconcile(accountId: number): Promise<void> {
    const { localLimits } = this.#context;
    const { usage } = await this.#withBans(accountId);
    const snapshot = { usage: usage ?? unused, minute: nothing, day: nothing };
    await Promise.all([
      this.#restore(accountId, snapshot, 0),
      localLimits.knows(accountId) ? this.reportAccount(accountId) : undefined,
    ]);
  }

  /** Restores the bans of an account in Redis, before the account itself, so that no request is admitted in between. */
  async #withBans(accountId: number): Promise<AccountSnapshot> {
    const { snapshotStore, link, keys } = this.#context;
    for (let reading = 0; reading < mostReadings; reading++) {
      const [callers = 0] = (await link.run('versions', [keys.callers], [0])) as number[];
      const snapshot = await snapshotStore.find(accountId);
      const restored = snapshot.bans.map((ban) => this.#restoreBan(accountId, ban, callers));
      if ((await Promise.all(restored)).every((answer) => answer === 1)) return snapshot;
    }
    throw new StorageUnavailable('bans change faster than they can be read');
  }

  async #recall({ accountId, keyId }: Caller): Promise<void> {
    const { localLimits, snapshotStore } = this.#context;
    const askedAt = performance.now();
    const { usage, bans } = await snapshotStore.find(accountId);
    const ban = bans.find((one) => one.keyId === keyId) ?? { bannedUntil: 0, level: 0 };
    localLimits.recall(accountId, keyId, usage ?? unused, ban);
    this.#recalledAt.set(keyId, askedAt);
  }

  async #restore(accountId: number, { usage, minute, day }: Held, number: number): Promise<unknown> {
    const { link, keys, process, clock } = this.#context;
    const windows = [
      [usage.minute.openedAt, usage.minute.count, minute.count, doubtsOf(minute)],
      [usage.day.openedAt, usage.day.count, day.count, doubtsOf(day)],
    ].flat();
    return link.run(
      'restore',
      [keys.usage(accountId), keys.clock],
      [...windows, process, number, ...clock.arguments()],
    );
  }

  async #restoreBan(
    accountId: number,
    { keyId, bannedUntil, level }: Ban,
    callers: number,
  ): Promise<unknown> {
    const { link, keys, clock } = this.#context;
    return link.run(
      'restoreBan',
      [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
      [bannedUntil, level, `${keyId}:${accountId}`, callers, ...clock.arguments()],
    );
  }
}

/** Runs work for this id once at a time; concurrent calls share its outcome. */
function once(running: Map<number, Promise<void>>, id: number, work: () => Promise<void>): Promise<void> {
  const already = running.get(id);
  if (already !== undefined) return already;
  const begun = work().finally(() => running.delete(id));
  running.set(id, begun);
  return begun;
}

function doubtsOf({ doubts }: Unreported): string {
  return doubts.map(({ number, count }) => `${number}:${count}`).join(',');
}
