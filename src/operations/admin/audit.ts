import { entryJson } from '../../contract/admin/audit.ts';
import type { AuditQuery } from '../audit.ts';
import { pageOf } from '../pages.ts';
import { shownEntry } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** What the operations on the audit log do. */
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
} satisfies HandlersOf<OperatorServices, 'listAudit' | 'exportAudit'>;

async function* linesOf(audit: OperatorServices['audit'], filter: AuditQuery): AsyncGenerator<string> {
  for await (const entry of audit.all(filter)) yield entryJson(shownEntry(entry));
}
