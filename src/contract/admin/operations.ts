/** The operations of operators, as data: the admin API, its document, the console and the tests derive from it. */

import type { Role } from '../../domain/role.ts';
import { categoryOperations } from '../category-operations.ts';
import {
  type InputOfRow,
  isRead,
  type Operation,
  type OutcomeOfRow,
  type UploadOfRow,
} from '../operation.ts';
import { orderOperations } from '../order-operations.ts';
import { petOperations } from '../pet-operations.ts';
import { accountOperations } from './account-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { backupOperations } from './backup-operations.ts';
import { banOperations } from './ban-operations.ts';
import { importOperations } from './import-operations.ts';
import { keyOperations } from './key-operations.ts';
import { operatorOperations } from './operator-operations.ts';
import { sessionOperations } from './session-operations.ts';
import { systemOperations } from './system-operations.ts';
import { usageOperations } from './usage-operations.ts';

export const adminBasePath = '/admin/v1';

/** Clients lose it; operators keep it, for it has the tag that a change of one animal depends on. */
const { deprecation: _, ...getPet } = {
  ...petOperations.getPet,
  description: 'Returns one animal, with the `ETag` that a change of it can depend on.',
};

/** The clients' own: an operator does the same, without a quota, and it is recorded as theirs. */
export const shopOperations = {
  ...petOperations,
  getPet,
  ...categoryOperations,
  ...orderOperations,
} as const satisfies Readonly<Record<string, Operation>>;

export const adminOperations = {
  ...sessionOperations,
  ...operatorOperations,
  ...accountOperations,
  ...keyOperations,
  ...banOperations,
  ...shopOperations,
  ...importOperations,
  ...usageOperations,
  ...auditOperations,
  ...systemOperations,
  ...backupOperations,
} as const satisfies Readonly<Record<string, Operation>>;

type AdminOperations = typeof adminOperations;

export type AdminOperationId = keyof AdminOperations;
export type ShopOperationId = keyof typeof shopOperations;

/** All of them, without what is particular to each. */
export const allAdminOperations: readonly (Operation & { readonly operationId: AdminOperationId })[] =
  Object.values(adminOperations);

export type AdminInputOf<Id extends AdminOperationId> = InputOfRow<AdminOperations[Id]> &
  UploadOfRow<AdminOperations[Id]>;
export type AdminOutcomeOf<Id extends AdminOperationId> = OutcomeOfRow<AdminOperations[Id]>;

/** What an operator needs for it; undefined: nobody has to be signed in. */
export function roleOf(operation: Operation): Role | undefined {
  const { role = isRead(operation) ? 'viewer' : 'admin' } = operation;
  return role === 'anybody' ? undefined : role;
}
