import * as z from 'zod';
import { defineOperations, okPage, type Success } from '../operation.ts';
import {
  cursorParameter,
  instant,
  int64Filter,
  limitParameter,
  objectSchema,
  pageSchema,
} from '../values.ts';
import { id, searchText, since, until } from './values.ts';

export const AuditEntry = objectSchema('AuditEntry', 'A change made by an operator.', {
  id: id('ID of the entry.'),
  at: instant('Time of the change (UTC).'),
  actor: z.string().meta({
    description:
      'The actor: `operator:` followed by a name, `cli:` followed by the system user, or `console:` followed by the system user who started the service.',
    examples: ['operator:anna'],
  }),
  operation: z.string().meta({ description: 'The operation.', examples: ['updateAccount'] }),
  object: z.string().meta({ description: 'The changed object.', examples: ['account:7'] }),
  before: z.unknown().describe('The object before the change; null if there was none.'),
  after: z.unknown().describe('The object after the change; null if it no longer exists.'),
});

const AuditLog = pageSchema(AuditEntry, 'AuditLog', 'A page of the audit log, latest first.');

const filters = {
  account: int64Filter('Return only changes to this account, its keys and its webhooks.'),
  since,
  until,
  actor: searchText(300).optional().describe('Return only changes by this actor.'),
  operation: searchText(300)
    .optional()
    .describe('Return only changes made by this operation, such as `closeAccount`.'),
  object: searchText(300).optional().describe('Return only changes to this object.'),
};

const ListAuditQuery = z.strictObject({
  limit: limitParameter('entries'),
  ...filters,
  cursor: cursorParameter,
});

const ExportAuditQuery = z.strictObject(filters);

export type AuditEntry = z.infer<typeof AuditEntry>;

/** An entry in the audit log. `before` and `after` are JSON with exact integers. */
export interface AuditEntryRow extends Omit<AuditEntry, 'before' | 'after'> {
  readonly before: string | null;
  readonly after: string | null;
}

export function auditEntryJson({ before, after, ...entry }: AuditEntryRow): string {
  return `${JSON.stringify(entry).slice(0, -1)},"before":${before},"after":${after}}`;
}

const ndjson: Success<AsyncIterable<string>> = {
  descriptions: { 200: 'The entries, one per line, oldest first.' },
  statusOf: () => 200,
  schema: AuditEntry,
  lines: true,
};

export const auditOperations = defineOperations(
  { tag: { name: 'Audit', description: 'Changes by operators.' } },
  {
    listAudit: {
      route: 'GET /audit',
      summary: 'List changes by operators',
      description: 'Returns a page of the audit log, latest first.',
      query: ListAuditQuery,
      paginated: true,
      success: okPage<AuditEntryRow>(AuditLog, auditEntryJson, 'A page of entries.'),
    },
    exportAudit: {
      route: 'GET /audit/export',
      summary: 'Export the audit log',
      description: 'Returns all matching entries as NDJSON.',
      query: ExportAuditQuery,
      success: ndjson,
    },
  },
);
