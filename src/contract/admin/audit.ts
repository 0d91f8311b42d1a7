import * as z from 'zod';
import { cursorParameter, instant, int64Parameter, limitParameter, pageLimit } from '../values.ts';
import { id, since, until } from './values.ts';

export const AuditEntry = z
  .object({
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
  })
  .meta({ id: 'AuditEntry', description: 'A change that an operator made.' });

export const AuditLog = z
  .array(AuditEntry)
  .max(pageLimit.max)
  .meta({ id: 'AuditLog', description: 'A page of the audit log, the latest first.' });

const filters = {
  account: int64Parameter('Return only what was done to this account and its keys.').optional(),
  since,
  until,
  actor: z.string().max(300).optional().meta({ description: 'Return only what this actor did.' }),
  object: z.string().max(300).optional().meta({ description: 'Return only what was done to this object.' }),
};

export const ListAuditQuery = z.strictObject({
  limit: limitParameter('entries'),
  ...filters,
  cursor: cursorParameter,
});

export const ExportAuditQuery = z.strictObject(filters);

export type AuditEntry = z.infer<typeof AuditEntry>;

/** An entry as the service has it: what was before and after is JSON, with its integers digit for digit. */
export interface RecordedEntry extends Omit<AuditEntry, 'before' | 'after'> {
  readonly before: string | null;
  readonly after: string | null;
}

export function entryJson({ before, after, ...entry }: RecordedEntry): string {
  return `${JSON.stringify(entry).slice(0, -1)},"before":${before},"after":${after}}`;
}
