import type { InputOf, OperationId, OutcomeOf, operations } from '../contract/operations.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Authenticated } from './admission.ts';
import type { Store } from './units.ts';

/** What readers see of a store. */
export type ReadStore = Pick<Store, 'pets' | 'categories' | 'orders'>;

/** The operations that change nothing. */
export type ReadId = {
  [Id in OperationId]: (typeof operations)[Id]['method'] extends 'GET' ? Id : never;
}[OperationId];

/** What the reader of an operation sees of a store: the resources that its row `reads`, for what it answers may be held while they stay. */
type ResourcesReadBy<Id extends ReadId> = Pick<
  ReadStore,
  keyof ReadStore & (typeof operations)[Id]['reads'][number]
>;

/** Operations that change nothing, as functions of the store. They may refuse. */
export type ReadersOf<Ids extends ReadId> = {
  readonly [Id in Ids]: (
    store: ResourcesReadBy<Id>,
    input: InputOf<Id>,
    admission: Authenticated,
  ) => Awaitable<OutcomeOf<Id>>;
};
