import type { InputOf, OperationId, OutcomeOf } from '../contract/operations.ts';
import type { Storage } from '../storage/storage.ts';
import type { BatchOfWork, UnitOfWork, Units, Writer } from '../storage/transaction.ts';
import { auditedUnit } from './audited.ts';
import { auditedOnceUnit } from './audited-once.ts';
import { onceBatch, onceUnit } from './once.ts';
import type { Preconditions } from './preconditions.ts';
import type { ReadId } from './readers.ts';
import { accountUnits } from './units/accounts.ts';
import { categoryUnits } from './units/categories.ts';
import { importUnits } from './units/imports.ts';
import { keyUnits } from './units/keys.ts';
import { operatorUnits, sessionUnits } from './units/operators.ts';
import { orderUnits } from './units/orders.ts';
import { petUnits } from './units/pets.ts';
import { answerUnits, auditUnits, usageUnits } from './units/usage.ts';

/** The operations that change something. */
export type WriteId = Exclude<OperationId, ReadId>;

/** What such an operation is called with. Plain values, for it goes to whoever writes. */
export interface WriteInput<Id extends WriteId> extends Pick<InputOf<Id>, 'params' | 'body'> {
  readonly preconditions: Preconditions;
  /** Unix ms. */
  readonly now: number;
}

/** The changes that clients ask for, by their operationId. */
const operationUnits = { ...petUnits, ...categoryUnits, ...orderUnits } as const satisfies {
  readonly [Id in WriteId]:
    | UnitOfWork<WriteInput<Id>, OutcomeOf<Id>>
    | BatchOfWork<WriteInput<Id>, OutcomeOf<Id>>;
};

const { createFirstKey: _byTheServiceItself, ...issuedKeyUnits } = keyUnits;

/** The changes that operators ask for, by the name that the audit log has. */
const auditedUnits = { ...operationUnits, ...accountUnits, ...issuedKeyUnits, ...operatorUnits } as const;

export type AuditedName = keyof typeof auditedUnits;

const audited = auditedUnit(auditedUnits);

/** Every change of the store, as a function of a transaction. Each is run where the store is written. */
export const units = {
  ...auditedUnits,
  ...keyUnits,
  once: onceUnit(operationUnits),
  createPetOnce: onceBatch('createPet', petUnits.createPet),
  audited,
  auditedOnce: auditedOnceUnit(audited),
  ...sessionUnits,
  ...usageUnits,
  ...answerUnits,
  ...auditUnits,
  ...importUnits,
} as const satisfies Units;

/** What runs them. */
export type Writes = Writer<typeof units>;

/** A store that has them. */
export type Store = Storage<typeof units>;
