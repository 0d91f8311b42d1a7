import { type Operation, page, type Success } from '../operation.ts';
import {
  AuditEntry,
  AuditLog,
  ExportAuditQuery,
  entryJson,
  ListAuditQuery,
  type RecordedEntry,
} from './audit.ts';

const ndjson: Success<AsyncIterable<string>> = {
  descriptions: { 200: 'The entries, one per line, oldest first.' },
  statusOf: () => 200,
  schema: AuditEntry,
  lines: true,
};

export const auditOperations = {
  listAudit: {
    operationId: 'listAudit',
    method: 'GET',
    path: '/audit',
    tag: 'Audit',
    summary: 'List changes that operators made',
    description: 'Returns a page of the audit log, the latest first.',
    stability: 'beta',
    query: ListAuditQuery,
    reads: [],
    paginated: true,
    success: page<RecordedEntry>(AuditLog, entryJson, 'The page of entries.'),
    errors: [],
  },
  exportAudit: {
    operationId: 'exportAudit',
    method: 'GET',
    path: '/audit/export',
    tag: 'Audit',
    summary: 'Export the audit log',
    description: 'Returns all entries that fit, as NDJSON.',
    stability: 'beta',
    query: ExportAuditQuery,
    reads: [],
    success: ndjson,
    errors: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;
