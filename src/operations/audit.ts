import type { AuditEntry, AuditFilter } from '../storage/admin.ts';
import type { Store } from './units.ts';

/** How many entries are read at once. */
const pageSize = 1_000;

/** How many keys are asked about at once. */
const keysAtOnce = 100;

/** Which entries: those that fit all that is given. */
export interface AuditQuery extends AuditFilter {
  /** What was done to the account with this id, or to its keys. */
  readonly account?: bigint | undefined;
}

/** What operators changed. */
export class AuditOperations {
  readonly #store: Pick<Store, 'audit' | 'keys'>;

  constructor(store: Pick<Store, 'audit' | 'keys'>) {
    this.#store = store;
  }

  /** A page of the entries that fit, the latest first, as `AuditStore.list` gives it. Of an account, it costs a read for each key. */
  async list(
    before: bigint | undefined,
    limit: number,
    { account, ...filter }: AuditQuery,
  ): Promise<AuditEntry[]> {
    if (account === undefined) return this.#store.audit.list(before, limit, filter);
    let latest: AuditEntry[] = [];
    for await (const objects of this.#objectsOf(account)) {
      const wanted = objects.filter((object) => filter.object === undefined || filter.object === object);
      const found = wanted.map((object) => this.#store.audit.list(before, limit, { ...filter, object }));
      latest = [...latest, ...(await Promise.all(found)).flat()].sort(latestFirst).slice(0, limit);
    }
    return latest;
  }

  /**
   * All entries that fit when this begins, the oldest first. The log is read against its order, so where its pages begin is
   * found first and kept, and they are read once more from the last of them on: however long it is, little is held.
   */
  async *all(filter: AuditQuery): AsyncGenerator<AuditEntry, void> {
    const latest = await this.list(undefined, pageSize, filter);
    const starts: bigint[] = [];
    for (let page = latest; page.length === pageSize; ) {
      const start = page.at(-1)?.id as bigint;
      starts.push(start);
      page = await this.list(start, pageSize, filter);
    }
    for (const start of starts.reverse()) yield* (await this.list(start, pageSize, filter)).reverse();
    yield* latest.reverse();
  }

  /** What the log calls an account and its keys, some at a time. */
  async *#objectsOf(account: bigint): AsyncGenerator<readonly string[]> {
    yield [`account:${account}`];
    for (let after = 0; ; ) {
      const keys = await this.#store.keys.list(after, keysAtOnce, Number(account));
      yield keys.map(({ id }) => `key:${id}`);
      if (keys.length < keysAtOnce) return;
      after = keys.at(-1)?.id ?? after;
    }
  }
}

function latestFirst(one: AuditEntry, other: AuditEntry): number {
  return other.at - one.at || Number(other.id - one.id);
}
