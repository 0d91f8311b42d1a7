import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import { noUsage } from '../limit.ts';
import type { LimitedCaller } from '../limit-store.ts';
import { restoreBans } from './ban-list.ts';
import type { RedisContext } from './context.ts';
import { NoReplyError } from './link.ts';
import type { LocalState, Unreported } from './local-limits.ts';

/** Maximum number of keys for which recent snapshot reads are remembered. */
const maxSnapshotReads = 100_000;
const snapshotCacheMs = 1_000;

const reportGroup = 500;

/** Maximum number of attempts to run a script for an account that is unknown to Redis. */
export const maxAttempts = 4;

/** Error for an account that is still missing from Redis after several attempts to restore it. */
export function discardedStateError(): StorageUnavailable {
  return new StorageUnavailable('Redis discards account data as soon as it is written');
}

const nothing: Unreported = { count: 0, doubts: [] };

export class Reconciliation {
  readonly #context: RedisContext;
  readonly #reconciling = new Map<number, Promise<void>>();
  readonly #loading = new Map<number, Promise<void>>();
  readonly #snapshotReadAt = new LRUCache<number, number>(maxEntries(maxSnapshotReads));

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Restores an account that is missing from Redis. Rejects with `StorageUnavailable`; the next request retries. */
  reconcile(accountId: number): Promise<void> {
    return shareRunning(this.#reconciling, accountId, () => this.#reconcile(accountId));
  }

  /**
   * Reads the snapshot of a caller into the local limits, because another instance may have banned the key or lifted
   * its ban. Does nothing if the snapshot was read recently. If reading fails, the local state applies; if there is no
   * local state, rejects with `StorageUnavailable`.
   */
  async loadSnapshot(caller: LimitedCaller): Promise<void> {
    const snapshotReadAt = this.#snapshotReadAt.get(caller.keyId) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - snapshotReadAt < snapshotCacheMs) return;
    try {
      await shareRunning(this.#loading, caller.keyId, () => this.#loadSnapshot(caller));
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (!this.#context.localLimits.knows(caller.accountId)) throw error;
    }
  }

  /** Reports an account's local counts before its next command. Commands on a connection run in order. */
  reportFirst(accountId: number): void {
    if (this.#context.localLimits.isUnreported(accountId)) void this.reportAccount(accountId);
  }

  /**
   * Reports local counts to Redis. Resolves with false if Redis has no state for the account to which the counts can be
   * added.
   */
  async reportAccount(accountId: number): Promise<boolean> {
    const { localLimits, nextNumber } = this.#context;
    const held = localLimits.takeUnreported(accountId);
    if (held === undefined) return true;
    const number = nextNumber();
    try {
      if ((await this.#restore(accountId, held, number)) === 1) {
        // The snapshot may lack counts that were not reported before.
        localLimits.requeueChanged([accountId]);
        return true;
      }
      localLimits.requeueUnreported(accountId, held, undefined);
      return false;
    } catch (error) {
      localLimits.requeueUnreported(accountId, held, error instanceof NoReplyError ? number : undefined);
      return true;
    }
  }

  async reportAll(): Promise<void> {
    const unreported = this.#context.localLimits.unreported();
    while (unreported.length > 0) {
      const group = unreported.splice(0, reportGroup).map(async (accountId) => {
        if (!(await this.reportAccount(accountId))) await this.reconcile(accountId);
      });
      // A failed report is retried on the account's next request.
      await Promise.allSettled(group);
    }
  }

  async #reconcile(accountId: number): Promise<void> {
    const { localLimits } = this.#context;
    // Bans are restored first, so that no request with a banned key is admitted.
    const { usage } = await restoreBans(this.#context, accountId);
    const snapshot = { usage: usage ?? noUsage, minute: nothing, day: nothing };
    await Promise.all([
      this.#restore(accountId, snapshot, 0),
      localLimits.knows(accountId) ? this.reportAccount(accountId) : undefined,
    ]);
  }

  async #loadSnapshot({ accountId, keyId }: LimitedCaller): Promise<void> {
    const { localLimits, snapshotStore } = this.#context;
    const askedAt = performance.now();
    const { usage, bans } = await snapshotStore.find(accountId);
    const ban = bans.find((one) => one.keyId === keyId) ?? { bannedUntil: 0, level: 0 };
    localLimits.mergeSnapshot(accountId, keyId, usage ?? noUsage, ban);
    this.#snapshotReadAt.set(keyId, askedAt);
  }

  async #restore(accountId: number, { usage, minute, day }: LocalState, number: number): Promise<unknown> {
    const { servers, process } = this.#context;
    const { link, keys, clock } = servers.shardFor(accountId);
    const windows = [
      [usage.minute.openedAt, usage.minute.count, minute.count, encodeDoubts(minute)],
      [usage.day.openedAt, usage.day.count, day.count, encodeDoubts(day)],
    ].flat();
    return link.run(
      'restore',
      [keys.usage(accountId), keys.clock],
      [...windows, process, number, ...clock.arguments()],
    );
  }
}

/** Runs only one task per id at a time. Concurrent calls share the outcome. */
function shareRunning(
  running: Map<number, Promise<void>>,
  id: number,
  work: () => Promise<void>,
): Promise<void> {
  const already = running.get(id);
  if (already !== undefined) return already;
  const begun = work().finally(() => running.delete(id));
  running.set(id, begun);
  return begun;
}

function encodeDoubts({ doubts }: Unreported): string {
  return doubts.map(({ number, count }) => `${number}:${count}`).join(',');
}
