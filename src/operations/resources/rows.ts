/** How the rows of a resource are performed: reads by readers, and changes by units of work. */
import type { InputOfRow, Operation, OutcomeOfRow } from '../../contract/operation.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Resource } from '../../domain/resources.ts';
import type { Storage } from '../../storage/storage.ts';
import type { BatchOfWork, UnitOfWork } from '../../storage/transaction.ts';
import type { Audited } from '../changes/audited.ts';
import type { Preconditions } from '../changes/preconditions.ts';

type Rows = Readonly<Record<string, Operation>>;

export type ReadStore = Pick<Storage, Exclude<Resource, 'callers'>>;

/** What the reader of a row sees: the resources that it `reads`, because its answer is cached until one of them changes. */
type ResourcesReadBy<Row extends Operation> = Pick<ReadStore, keyof ReadStore & Row['reads'][number]>;

/** The rows that change nothing, as functions of the store, the input and what else they are given. They may refuse. */
export type ReadersOf<All extends Rows, More extends readonly unknown[] = []> = {
  readonly [Id in keyof All as All[Id]['method'] extends 'GET' ? Id : never]: (
    store: ResourcesReadBy<All[Id]>,
    input: InputOfRow<All[Id]>,
    ...more: More
  ) => Awaitable<OutcomeOfRow<All[Id]>>;
};

/** What a change is called with: plain values, because it may be run in another thread or process. */
type WriteInput<Row> = (Row extends { params: unknown } ? Pick<InputOfRow<Row>, 'params'> : unknown) &
  (Row extends { body: { optional: true } }
    ? unknown
    : Row extends { body: unknown }
      ? Pick<InputOfRow<Row>, 'body'>
      : unknown) &
  (Row extends { preconditions: unknown } ? { readonly preconditions: Preconditions } : unknown) & {
    /** Unix ms. */
    readonly now: number;
  };

export type UnitsOf<All extends Rows> = {
  readonly [Id in keyof All as All[Id]['method'] extends 'GET' ? never : Id]: Audited &
    (
      | UnitOfWork<WriteInput<All[Id]>, OutcomeOfRow<All[Id]>>
      | BatchOfWork<WriteInput<All[Id]>, OutcomeOfRow<All[Id]>>
    );
};
