import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import { type KeyPenalty, unused } from '../../domain/limit.ts';
import { type Ban, type Caller, StorageUnavailable } from '../storage.ts';
import type { RedisKeys } from './keys.ts';
import { NoAnswer, type Run } from './link.ts';
import type { Held, LocalLimits, Unreported } from './local-limits.ts';
import type { AccountBan, AccountSnapshot, SnapshotStore } from './snapshot-store.ts';

export interface ReconciliationOptions {
  readonly run: Run;
  readonly keys: RedisKeys;
  readonly localLimits: LocalLimits;
  readonly snapshotStore: SnapshotStore;
  /** Names this process in Redis: 8 bytes. */
  readonly process: string;
  /** The next number of what Redis is asked to count. */
  readonly nextNumber: () => number;
  /** The time scripts are given. */
  readonly time: () => number[];
}

/** Keys, and bans that Redis has to be told of. */
const mostHeld = 100_000;
/** How long the local limits are believed on what the snapshots know better. */
const recalledForMs = 1_000;

/** Accounts that Redis is told of at once. */
const reportGroup = 500;
/** How often bans are read again that callers' changes overtook. */
const mostReadings = 4;
/** For bans that were not read, but decided here. */
const anyVersion = -1;

/** How often Redis is asked about an account that it does not know yet. */
export const mostTries = 4;

/** Redis knew nothing of an account, however often it was told. */
export function discarding(): StorageUnavailable {
  return new StorageUnavailable('Redis discards account data as soon as it is written');
}

const nothing: Unreported = { count: 0, doubts: [] };

/** Keeps Redis, the local limits and the snapshot store in agreement: what one of them lost, the others give back. */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  readonly #reconciling = new Map<number, Promise<void>>();
  readonly #recalling = new Map<number, Promise<void>>();
  /** When the snapshot store was asked about each key. */
  readonly #recalledAt = new LRUCache<number, number>(atMost(mostHeld));
  readonly #unreportedBans = new LRUCache<number, AccountBan>(atMost(mostHeld));

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  /**
   * Makes an account known to Redis that has no state of it: new, long idle, or lost. Rejects with
   * `StorageUnavailable` when the snapshot store does not say what there was; then Redis still does not know the account, so
   * that nothing is forgotten and the next request asks again.
   */
  reconcile(accountId: number): Promise<void> {
    return once(this.#reconciling, accountId, () => this.#reconcile(accountId));
  }

  /**
   * Makes the local limits know what the snapshots have of a caller, unless it did a moment ago: others may have banned its key,
   * or lifted its ban. When the snapshot store does not answer, what is known here counts; rejects with `StorageUnavailable`
   * when nothing is: who is not known here has to come again.
   */
  async recall(caller: Caller): Promise<void> {
    const recalledAt = this.#recalledAt.get(caller.keyId) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - recalledAt < recalledForMs) return;
    try {
      await once(this.#recalling, caller.keyId, () => this.#recall(caller));
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (!this.#options.localLimits.knows(caller.accountId)) throw error;
    }
  }

  /** Tells Redis what was counted here while it was away; false when it has no state of the account to add it to. */
  async report(accountId: number): Promise<boolean> {
    const { localLimits, nextNumber } = this.#options;
    const held = localLimits.report(accountId);
    if (held === undefined) return true;
    const number = nextNumber();
    try {
      if ((await this.#restore(accountId, held, number)) === 1) return true;
      localLimits.undoReport(accountId, held, undefined);
      return false;
    } catch (error) {
      localLimits.undoReport(accountId, held, error instanceof NoAnswer ? number : undefined);
      return true;
    }
  }

  async reportAll(): Promise<void> {
    await Promise.all([...this.#unreportedBans.values()].map((ban) => this.#reportBan(ban)));
    const unreported = this.#options.localLimits.unreported();
    while (unreported.length > 0) {
      const group = unreported.splice(0, reportGroup).map(async (accountId) => {
        if (!(await this.report(accountId))) await this.reconcile(accountId);
      });
      // What could not be told now is told when the account is asked for again.
      await Promise.allSettled(group);
    }
  }

  /** Remembers a ban, also beyond Redis; one that Redis did not decide it is told of later. */
  saveBan(
    { keyId, accountId }: Caller,
    { bannedUntil, banLevel: level }: Omit<KeyPenalty, 'strikes'>,
    decidedBy: 'redis' | 'fallback',
  ): void {
    const ban = { keyId, accountId, bannedUntil, level };
    if (decidedBy === 'fallback') this.#unreportedBans.set(keyId, ban);
    this.#options.snapshotStore.saveBan(ban);
  }

  /** A ban that the snapshot store no longer has was lifted meanwhile. */
  async #reportBan(ban: AccountBan): Promise<void> {
    const { accountId, keyId } = ban;
    this.#unreportedBans.delete(keyId);
    try {
      const known = await this.#options.snapshotStore.find(accountId).catch(() => undefined);
      if (known?.bans.some((one) => one.keyId === keyId) === false) return;
      await this.#restoreBan(accountId, ban, anyVersion);
    } catch {
      this.#unreportedBans.set(keyId, ban);
    }
  }

  async #reconcile(accountId: number): Promise<void> {
    const { localLimits } = this.#options;
    const { usage } = await this.#withBans(accountId);
    const snapshot = { usage: usage ?? unused, minute: nothing, day: nothing };
    // Commands are done in order.
    await Promise.all([
      this.#restore(accountId, snapshot, 0),
      localLimits.knows(accountId) ? this.report(accountId) : undefined,
    ]);
  }

  /** Gives Redis the bans of an account, before it knows the account and checks its requests. */
  async #withBans(accountId: number): Promise<AccountSnapshot> {
    const { snapshotStore, run, keys } = this.#options;
    for (let reading = 0; reading < mostReadings; reading++) {
      const [callers = 0] = (await run('versions', [keys.callers], [0])) as number[];
      const snapshot = await snapshotStore.find(accountId);
      const restored = snapshot.bans.map((ban) => this.#restoreBan(accountId, ban, callers));
      if ((await Promise.all(restored)).every((answer) => answer === 1)) return snapshot;
    }
    throw new StorageUnavailable('bans change faster than they can be read');
  }

  async #recall({ accountId, keyId }: Caller): Promise<void> {
    const { localLimits, snapshotStore } = this.#options;
    const askedAt = performance.now();
    const { usage, bans } = await snapshotStore.find(accountId);
    const ban = bans.find((one) => one.keyId === keyId) ?? { bannedUntil: 0, level: 0 };
    localLimits.recall(accountId, keyId, usage ?? unused, ban);
    this.#recalledAt.set(keyId, askedAt);
  }

  async #restore(accountId: number, { usage, minute, day }: Held, number: number): Promise<unknown> {
    const { run, keys, process, time } = this.#options;
    const windows = [
      [usage.minute.openedAt, usage.minute.count, minute.count, doubtsOf(minute)],
      [usage.day.openedAt, usage.day.count, day.count, doubtsOf(day)],
    ].flat();
    return run('restore', [keys.usage(accountId), keys.clock], [...windows, process, number, ...time()]);
  }

  async #restoreBan(
    accountId: number,
    { keyId, bannedUntil, level }: Ban,
    callers: number,
  ): Promise<unknown> {
    const { run, keys, time } = this.#options;
    return run(
      'restoreBan',
      [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
      [bannedUntil, level, `${keyId}:${accountId}`, callers, ...time()],
    );
  }
}

/** Runs work for this id once at a time; who asks meanwhile gets the same outcome. */
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
