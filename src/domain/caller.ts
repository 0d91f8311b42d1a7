import type { PlanName, Quota } from './plan.ts';
import type { Scope } from './scope.ts';

/** An active key and its account. */
export interface Caller {
  readonly keyId: number;
  readonly accountId: number;
  readonly plan: PlanName;
  readonly quota: Quota;
  readonly scopes: ReadonlySet<Scope>;
  /** Unix ms; `Infinity` for keys that never expire. */
  readonly expiresAt: number;
}
