import type { LimitStore } from '../limits/limit-store.ts';
import type { Storage } from '../storage/storage.ts';
import type { Units, Writer } from '../storage/transaction.ts';
import { createAuditedUnit } from './changes/audited-unit.ts';
import { createIdempotentBatch, createIdempotentUnit } from './changes/idempotency.ts';
import { clientUnits } from './resources/clients.ts';
import { sharedUnits } from './resources/shared.ts';
import { accountUnits } from './units/accounts.ts';
import { deliveryUnits } from './units/deliveries.ts';
import { firstKeyUnits, keyUnits } from './units/keys.ts';
import { operatorUnits, sessionUnits } from './units/operators.ts';
import { recordUnits } from './units/records.ts';
import { operatorWebhookUnits, reencryptionUnits } from './units/webhooks.ts';

/** Changes by operators. Their names appear in the audit log. */
const auditedUnits = {
  ...sharedUnits,
  ...accountUnits,
  ...keyUnits,
  ...operatorUnits,
  ...operatorWebhookUnits,
} as const;

export type AuditedUnitName = keyof typeof auditedUnits;

/**
 * Every change to the store, as a function of a transaction. Units of work run in the thread that writes to the store.
 */
export const units = {
  ...auditedUnits,
  ...firstKeyUnits,
  ...clientUnits,
  once: createIdempotentUnit(clientUnits),
  createPetOnce: createIdempotentBatch('createPet', sharedUnits.createPet),
  audited: createAuditedUnit(auditedUnits),
  ...sessionUnits,
  ...recordUnits,
  ...deliveryUnits,
  ...reencryptionUnits,
} as const satisfies Units;

export type Store = Storage<typeof units> & { readonly limits: LimitStore };

export type UnitWriter = Writer<typeof units>;
