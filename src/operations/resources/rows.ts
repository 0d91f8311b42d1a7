/** How the rows of a resource are performed: reads by readers, and changes by units of work. */
import type { InputOfRow, Need, Operation, OutcomeOfRow } from '../../contract/operation.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Resource, Unversioned } from '../../domain/resources.ts';
import type { Scope } from '../../domain/scope.ts';
import type { EventBounds, Storage } from '../../storage/storage.ts';
import type { BatchOfWork, UnitOfWork } from '../../storage/transaction.ts';
import type { Audited } from '../changes/audited.ts';
import type { Preconditions } from '../changes/preconditions.ts';

/** Rows that are performed by readers. */
type Reading = { readonly method: 'GET' } | { readonly isEffect: true };

type Rows = Readonly<Record<string, Operation>>;

export type ReadStore = Pick<Storage, Exclude<Resource, 'callers'> | Unversioned>;

/** What the reader of a row sees: the resources that it `reads`, because its answer is cached until one of them changes. */
type ResourcesReadBy<Row extends Operation> = Pick<ReadStore, keyof ReadStore & Row['reads'][number]>;

/** The rows that change nothing, as functions of the store, the input and what else they are given. They may refuse. */
export type ReadersOf<All extends Rows, More extends readonly unknown[] = []> = {
  readonly [Id in keyof All as All[Id] extends Reading ? Id : never]: (
    store: ResourcesReadBy<All[Id]>,
    input: InputOfRow<All[Id]>,
    ...more: More
  ) => Awaitable<OutcomeOfRow<All[Id]>>;
};

/** What the needs of a row give its unit. */
export interface Needed {
  readonly caller: { readonly accountId: number; readonly scopes: readonly Scope[] };
  /** Without a mistake also where the body has no URL. */
  readonly endpoint: { readonly mistake: string | undefined };
  readonly events: EventBounds;
  /** Sealed. */
  readonly secret: string;
}

type NeededBy<Row> = Row extends { needs: readonly (infer Name extends Need)[] }
  ? Pick<Needed, Name>
  : unknown;

/** What a change is called with: plain values, because it may be run in another thread or process. */
type WriteInput<Row> = (Row extends { params: unknown } ? Pick<InputOfRow<Row>, 'params'> : unknown) &
  (Row extends { body: { optional: true } }
    ? unknown
    : Row extends { body: unknown }
      ? Pick<InputOfRow<Row>, 'body'>
      : unknown) &
  NeededBy<Row> &
  (Row extends { preconditions: unknown } ? { readonly preconditions: Preconditions } : unknown) & {
    /** Unix ms. */
    readonly now: number;
  };

/** `Also` is what each unit has besides: a subject, for the changes that operators make. */
export type UnitsOf<All extends Rows, Also = Audited> = {
  readonly [Id in keyof All as All[Id] extends Reading ? never : Id]: Also &
    (
      | UnitOfWork<WriteInput<All[Id]>, OutcomeOfRow<All[Id]>>
      | BatchOfWork<WriteInput<All[Id]>, OutcomeOfRow<All[Id]>>
    );
};
