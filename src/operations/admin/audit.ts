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

type AuditReads = Pick<Store, 'audit' | 'keys' | 'webhooks'>;

export const auditHandlers = {
  listAudit: async ({ store }, { query }) => {
    const { items, next } = await readPage(query, {
      path: '/audit',
      read: (before, limit, filter) => listEntries(store, before, limit, filter),
    });
    return { items: items.map(presentEntry), next };
  },
  exportAudit: ({ store }, { query }) => exportLines(store, query),
} satisfies StoreHandlersOf<{ readonly store: AuditReads }, typeof auditOperations>;

async function* exportLines(store: AuditReads, filter: AuditQuery): AsyncGenerator<string> {
  for await (const entry of readAllEntries(store, filter)) yield auditEntryJson(presentEntry(entry));
}

/** A page of matching entries, newest first. Filtering by account requires one read per key. */
export async function listEntries(
  store: AuditReads,
  before: bigint | undefined,
  limit: number,
  { account, ...filter }: AuditQuery,
): Promise<AuditEntry[]> {
  if (account === undefined) return store.audit.list(before, limit, filter);
  let latest: AuditEntry[] = [];
  const pacer = new Pacer();
  for await (const objects of objectsOf(store, account)) {
    const wanted = objects.filter((object) => filter.object === undefined || filter.object === object);
    const found = wanted.map((object) => store.audit.list(before, limit, { ...filter, object }));
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
export async function* readAllEntries(
  store: AuditReads,
  filter: AuditQuery,
): AsyncGenerator<AuditEntry, void> {
  const latest = await listEntries(store, undefined, pageSize, filter);
  const starts: bigint[] = [];
  const pacer = new Pacer();
  for (let page = latest; page.length === pageSize; ) {
    const start = page.at(-1)?.id as bigint;
    starts.push(start);
    page = await listEntries(store, start, pageSize, filter);
    if (pacer.isDue) await pacer.pause();
  }
  for (const start of starts.reverse()) yield* (await listEntries(store, start, pageSize, filter)).reverse();
  yield* latest.reverse();
}

async function* objectsOf(store: AuditReads, account: bigint): AsyncGenerator<readonly string[]> {
  const accountId = toNumericId(account);
  const webhooks = await store.webhooks.list(undefined, maxWebhooks, { accountId });
  yield [`account:${account}`, ...webhooks.map(({ id }) => `webhook:${id}`)];
  const read = (last?: Key) => store.keys.list(last?.id, keyBatch, { accountId });
  for await (const keys of readInBatches(keyBatch, read)) yield keys.map(({ id }) => `key:${id}`);
}
