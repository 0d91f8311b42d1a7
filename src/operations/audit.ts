import type { AuditEntry, AuditFilter, AuditStore } from '../storage/admin.ts';

/** How many entries are read at once. */
const pageSize = 1_000;

/** What operators changed. */
export class AuditOperations {
  readonly #audit: AuditStore;

  constructor(audit: AuditStore) {
    this.#audit = audit;
  }

  /** A page of the entries that fit, the latest first, as `AuditStore.list` gives it. */
  async list(before: bigint | undefined, limit: number, filter: AuditFilter): Promise<AuditEntry[]> {
    return this.#audit.list(before, limit, filter);
  }

  /**
   * All entries that fit when this begins, the oldest first. The log is read against its order, so where its pages begin is
   * found first and kept, and they are read once more from the last of them on: however long it is, little is held.
   */
  async *all(filter: AuditFilter): AsyncGenerator<AuditEntry, void> {
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
}
