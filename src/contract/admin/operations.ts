/** Operations of the admin API, from which the API, its OpenAPI document, the console and tests are derived. */

import type { Role } from '../../domain/role.ts';
import { isRead, type Operation, type OperationInput, type OperationUpload } from '../operation.ts';
import { sharedOperations } from '../operations.ts';
import { accountOperations } from './accounts.ts';
import { auditOperations } from './audit.ts';
import { backupOperations } from './backups.ts';
import { banOperations } from './bans.ts';
import { categoryUseOperations } from './categories.ts';
import { adminEventOperations } from './events.ts';
import { importOperations } from './imports.ts';
import { keyOperations } from './keys.ts';
import { overriddenPublicOperations, totalsOperations } from './lists.ts';
import { operatorOperations } from './operators.ts';
import { searchOperations } from './search.ts';
import { sessionOperations } from './sessions.ts';
import { systemOperations } from './system.ts';
import { usageOperations } from './usage.ts';
import { accountWebhookOperations } from './webhooks.ts';

export const adminBasePath = '/admin/v1';

/** Operations shared with the public API. Operators have no quota, and the audit log records their changes. */
export const publicOperations = { ...sharedOperations, ...overriddenPublicOperations } as const;

export const adminOperations = {
  ...sessionOperations,
  ...searchOperations,
  ...operatorOperations,
  ...accountOperations,
  ...keyOperations,
  ...banOperations,
  ...publicOperations,
  ...totalsOperations,
  ...categoryUseOperations,
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
export type PublicOperationId = keyof typeof publicOperations;

export const allAdminOperations: readonly (Operation & { readonly operationId: AdminOperationId })[] =
  Object.values(adminOperations);

export type AdminInput<Id extends AdminOperationId> = OperationInput<AdminOperations[Id]> &
  OperationUpload<AdminOperations[Id]>;

/** Returns the required role, or undefined if the operation requires no sign-in. */
export function requiredRole(operation: Operation): Role | undefined {
  const { role = isRead(operation) ? 'viewer' : 'admin' } = operation;
  return role === 'anybody' ? undefined : role;
}
