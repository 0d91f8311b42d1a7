import { type auditOperations, entryJson } from '../../contract/admin/audit.ts';
import { maxWebhooks } from '../../contract/webhooks.ts';
import { Pacer } from '../../domain/pacer.ts';
import type { AuditFilter } from '../../storage/admin.ts';
import type { AuditEntry } from '../../tables/operators.ts';
import { pageOf } from '../resources/pages.ts';
import { shownEntry } from '../shown.ts';
import type { Store } from '../units.ts';
import type { HandlersOf } from './handlers.ts';

const pageSize = 1_000;

/** Each key is a query. */
const keyBatch = 20;

interface AuditQuery extends AuditFilter {
  readonly account?: bigint | undefined;
}

export class AuditOperations {
  readonly #store: Pick<Store, 'audit' | 'keys' | 'webhooks'>;

  constructor(store: Pick<Store, 'audit' | 'keys' | 'webhooks'>) {
    this.#store = store;
  }

  /** A page of matching entries, newest first. Filtering by account requires one read per key. */
  async list(
    before: bigint | undefined,
    limit: number,
    { account, ...filter }: AuditQuery,
  ): Promise<AuditEntry[]> {
    if (account === undefined) return this.#store.audit.list(before, limit, filter);
    let latest: AuditEntry[] = [];
    const pacer = new Pacer();
    for await (const objects of this.#objectsOf(account)) {
      const wanted = objects.filter((object) => filter.object === undefined || filter.object === object);
      const found = wanted.map((object) => this.#store.audit.list(before, limit, { ...filter, object }));
      latest = [...latest, ...(await Promise.all(found)).flat()].sort(latestFirst).slice(0, limit);
      if (pacer.isDue) await pacer.pause();
    }
    return latest;
  }

  /**
   * All entries that match when the call begins, oldest first. Pages can be read only from newest to oldest, so this
   * finds where each page starts, then reads them in reverse. Memory usage stays low regardless of the length of the
   * log.
   */
  async *all(filter: AuditQuery): AsyncGenerator<AuditEntry, void> {
    const latest = await this.list(undefined, pageSize, filter);
    const starts: bigint[] = [];
    const pacer = new Pacer();
    for (let page = latest; page.length === pageSize; ) {
      const start = page.at(-1)?.id as bigint;
      starts.push(start);
      page = await this.list(start, pageSize, filter);
      if (pacer.isDue) await pacer.pause();
    }
    for (const start of starts.reverse()) yield* (await this.list(start, pageSize, filter)).reverse();
    yield* latest.reverse();
  }

  async *#objectsOf(account: bigint): AsyncGenerator<readonly string[]> {
    const accountId = Number(account);
    const webhooks = await this.#store.webhooks.list(undefined, maxWebhooks, { accountId });
    yield [`account:${account}`, ...webhooks.map(({ id }) => `webhook:${id}`)];
    for (let after = 0; ; ) {
      const keys = await this.#store.keys.list(after, keyBatch, { accountId });
      yield keys.map(({ id }) => `key:${id}`);
      if (keys.length < keyBatch) return;
      after = keys.at(-1)?.id ?? after;
    }
  }
}

function latestFirst(one: AuditEntry, other: AuditEntry): number {
  return other.at - one.at || Number(other.id - one.id);
}

export const auditHandlers = {
  listAudit: async ({ audit }, { query }) => {
    const { limit: _limit, cursor: _cursor, ...filter } = query;
    const { items, next } = await pageOf(query, {
      path: '/audit',
      read: (before, limit) => audit.list(before, limit, filter),
    });
    return { items: items.map(shownEntry), next };
  },
  exportAudit: ({ audit }, { query }) => linesOf(audit, query),
} satisfies HandlersOf<{ readonly audit: AuditOperations }, typeof auditOperations>;

async function* linesOf(audit: AuditOperations, filter: AuditQuery): AsyncGenerator<string> {
  for await (const entry of audit.all(filter)) yield entryJson(shownEntry(entry));
}
