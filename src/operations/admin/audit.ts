import { auditEntryJson, type auditOperations } from '../../contract/admin/audit.ts';
import { maxWebhooks } from '../../contract/bounds.ts';
import { Pacer } from '../../domain/pacer.ts';
import type { AuditFilter } from '../../storage/admin.ts';
import type { Key } from '../../tables/accounts.ts';
import type { AuditEntry } from '../../tables/operators.ts';
import { presentEntry } from '../presenters.ts';
import { readInBatches } from '../read-in-batches.ts';
import { readPage } from '../resources/pages.ts';
import type { Store } from '../units.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { toNumericId } from './ids.ts';

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
      latest = [...latest, ...(await Promise.all(found)).flat()]
        .sort((one, other) => other.at - one.at || Number(other.id - one.id))
        .slice(0, limit);
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
    const accountId = toNumericId(account);
    const webhooks = await this.#store.webhooks.list(undefined, maxWebhooks, { accountId });
    yield [`account:${account}`, ...webhooks.map(({ id }) => `webhook:${id}`)];
    const read = (last?: Key) => this.#store.keys.list(last?.id, keyBatch, { accountId });
    for await (const keys of readInBatches(keyBatch, read)) yield keys.map(({ id }) => `key:${id}`);
  }
}

export const auditHandlers = {
  listAudit: async ({ audit }, { query }) => {
    const { limit: _limit, cursor: _cursor, ...filter } = query;
    const { items, next } = await readPage(query, {
      path: '/audit',
      read: (before, limit) => audit.list(before, limit, filter),
    });
    return { items: items.map(presentEntry), next };
  },
  exportAudit: ({ audit }, { query }) => exportLines(audit, query),
} satisfies StoreHandlersOf<{ readonly audit: AuditOperations }, typeof auditOperations>;

async function* exportLines(audit: AuditOperations, filter: AuditQuery): AsyncGenerator<string> {
  for await (const entry of audit.all(filter)) yield auditEntryJson(presentEntry(entry));
}
