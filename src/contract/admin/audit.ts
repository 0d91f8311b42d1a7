import * as z from 'zod';
import { okPage, rowsOf, type Success } from '../operation.ts';
import { cursorParameter, instant, int64Filter, limitParameter, pageShape, shape } from '../values.ts';
import { id, since, until } from './values.ts';

export const AuditEntry = shape('AuditEntry', 'A change that an operator made.', {
  id: id('ID of the entry.'),
  at: instant('When it was done, UTC.'),
  actor: z.string().meta({
    description:
      'Who did it: `operator:` and a name, `cli:` and the user of the system, or `console:` and the user who started the service.',
    examples: ['operator:anna'],
  }),
  operation: z.string().meta({ description: 'What was done.', examples: ['updateAccount'] }),
  object: z.string().meta({ description: 'What it was done to.', examples: ['account:7'] }),
  before: z.unknown().meta({ description: 'The object before; null when there was none.' }),
  after: z.unknown().meta({ description: 'The object after; null when there is none any more.' }),
});

const AuditLog = pageShape(AuditEntry, 'AuditLog', 'A page of the audit log, the latest first.');

const filters = {
  account: int64Filter('Return only what was done to this account, its keys and its webhooks.'),
  since,
  until,
  actor: z.string().max(300).optional().meta({ description: 'Return only what this actor did.' }),
  object: z.string().max(300).optional().meta({ description: 'Return only what was done to this object.' }),
};

const ListAuditQuery = z.strictObject({
  limit: limitParameter('entries'),
  ...filters,
  cursor: cursorParameter,
});

const ExportAuditQuery = z.strictObject(filters);

export type AuditEntry = z.infer<typeof AuditEntry>;

/** An entry as the service has it: what was before and after is JSON, with its integers digit for digit. */
export interface RecordedEntry extends Omit<AuditEntry, 'before' | 'after'> {
  readonly before: string | null;
  readonly after: string | null;
}

export function entryJson({ before, after, ...entry }: RecordedEntry): string {
  return `${JSON.stringify(entry).slice(0, -1)},"before":${before},"after":${after}}`;
}

const ndjson: Success<AsyncIterable<string>> = {
  descriptions: { 200: 'The entries, one per line, oldest first.' },
  statusOf: () => 200,
  schema: AuditEntry,
  lines: true,
};

export const auditOperations = rowsOf(
  { tag: { name: 'Audit', description: 'What operators changed.' } },
  {
    listAudit: {
      method: 'GET',
      path: '/audit',
      summary: 'List changes that operators made',
      description: 'Returns a page of the audit log, the latest first.',
      query: ListAuditQuery,
      paginated: true,
      success: okPage<RecordedEntry>(AuditLog, entryJson, 'The page of entries.'),
    },
    exportAudit: {
      method: 'GET',
      path: '/audit/export',
      summary: 'Export the audit log',
      description: 'Returns all entries that fit, as NDJSON.',
      query: ExportAuditQuery,
      success: ndjson,
    },
  },
);
