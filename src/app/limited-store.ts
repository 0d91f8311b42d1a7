import type { LimitRules } from '../limits/limit.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import type { Storage, StoreSettings } from '../storage/storage.ts';
import type { Units } from '../storage/transaction.ts';

/** A store, and the limits of its accounts. */
export interface LimitedStore<All extends Units = Units> extends Storage<All> {
  readonly limits: LimitStore;
}

export interface LimitedStoreSettings<All extends Units = Units> extends StoreSettings<All> {
  readonly rules: LimitRules;
}
