/** The operations of operators, as data: the admin API, its document, the console and the tests derive from it. */

import type { Role } from '../../domain/role.ts';
import { type InputOfRow, isRead, type Operation, type UploadOfRow } from '../operation.ts';
import { sharedOperations } from '../operations.ts';
import { accountOperations } from './accounts.ts';
import { auditOperations } from './audit.ts';
import { backupOperations } from './backups.ts';
import { banOperations } from './bans.ts';
import { adminEventOperations } from './events.ts';
import { importOperations } from './imports.ts';
import { keyOperations } from './keys.ts';
import { operatorOperations } from './operators.ts';
import { sessionOperations } from './sessions.ts';
import { systemOperations } from './system.ts';
import { usageOperations } from './usage.ts';
import { accountWebhookOperations } from './webhooks.ts';

export const adminBasePath = '/admin/v1';

/** Clients lose it; operators keep it, for it has the tag that a change of one animal depends on. */
const { deprecation: _, ...getPet } = {
  ...sharedOperations.getPet,
  description: 'Returns one animal, with the `ETag` that a change of it can depend on.',
};

/** The clients' own: an operator does the same, without a quota, and it is recorded as theirs. */
export const shopOperations = { ...sharedOperations, getPet } as const;

export const adminOperations = {
  ...sessionOperations,
  ...operatorOperations,
  ...accountOperations,
  ...keyOperations,
  ...banOperations,
  ...shopOperations,
  ...importOperations,
  ...adminEventOperations,
  ...accountWebhookOperations,
  ...usageOperations,
  ...auditOperations,
  ...systemOperations,
  ...backupOperations,
} as const satisfies Readonly<Record<string, Operation>>;

type AdminOperations = typeof adminOperations;

export type AdminOperationId = keyof AdminOperations;
export type ShopOperationId = keyof typeof shopOperations;

export const allAdminOperations: readonly (Operation & { readonly operationId: AdminOperationId })[] =
  Object.values(adminOperations);

export type AdminInputOf<Id extends AdminOperationId> = InputOfRow<AdminOperations[Id]> &
  UploadOfRow<AdminOperations[Id]>;

/** The role an operator needs; undefined where no sign-in is needed. */
export function roleOf(operation: Operation): Role | undefined {
  const { role = isRead(operation) ? 'viewer' : 'admin' } = operation;
  return role === 'anybody' ? undefined : role;
}
