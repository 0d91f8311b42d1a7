/** Types for implementing the operations of a resource: readers for reads, units of work for changes. */
import type { Need, Operation, OperationInput, OperationOutcome } from '../../contract/operation.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Resource, UnversionedResource } from '../../domain/resources.ts';
import type { Scope } from '../../domain/scope.ts';
import type { EventBounds, Storage } from '../../storage/storage.ts';
import type { BatchOfWork, UnitOfWork } from '../../storage/transaction.ts';
import type { AuditedUnit } from '../changes/audited-unit.ts';
import type { Preconditions } from '../changes/preconditions.ts';

/** Operations that are implemented by readers. */
type ReadOperation = { readonly route: `GET ${string}` } | { readonly isEffect: true };

type Rows = Readonly<Record<string, Operation>>;

export type ReadStore = Pick<Storage, Exclude<Resource, 'callers'> | UnversionedResource>;

/**
 * The resources that an operation's reader may access: only those in `reads`, because its response is cached until one
 * of them changes.
 */
type ResourcesReadBy<Row extends Operation> = Pick<ReadStore, keyof ReadStore & Row['reads'][number]>;

/**
 * Implementations of read-only operations, as functions of the store, the input and additional arguments. They may
 * throw an `ApiError`.
 */
export type OperationReaders<All extends Rows, More extends readonly unknown[] = []> = {
  readonly [Id in keyof All as All[Id] extends ReadOperation ? Id : never]: (
    store: ResourcesReadBy<All[Id]>,
    input: OperationInput<All[Id]>,
    ...more: More
  ) => Awaitable<OperationOutcome<All[Id]>>;
};

/** Additional inputs to a unit of work, selected by the `needs` of the operation. */
export interface ResolvedNeeds {
  readonly caller: { readonly accountId: number; readonly scopes: readonly Scope[] };
  /** `mistake` is undefined if the URL is valid or absent. */
  readonly endpoint: { readonly mistake: string | undefined };
  readonly events: EventBounds;
  /** The encrypted secret. */
  readonly secret: string;
}

type NeedsOf<Row> = Row extends { needs: readonly (infer Name extends Need)[] }
  ? Pick<ResolvedNeeds, Name>
  : unknown;

/** Arguments of a change. They are plain values, because the change may run in another thread or process. */
export type WriteInput<Row> = (Row extends { params: unknown }
  ? Pick<OperationInput<Row>, 'params'>
  : unknown) &
  (Row extends { body: { optional: true } }
    ? unknown
    : Row extends { body: unknown }
      ? Pick<OperationInput<Row>, 'body'>
      : unknown) &
  NeedsOf<Row> &
  (Row extends { preconditions: unknown } ? { readonly preconditions: Preconditions } : unknown) & {
    /** Unix ms. */
    readonly now: number;
  };

/** The implementation of each change. `Also` adds properties to each unit of work, such as the audit log's subject. */
export type OperationUnits<All extends Rows, Also = AuditedUnit> = {
  readonly [Id in keyof All as All[Id] extends ReadOperation ? never : Id]: Also &
    (
      | UnitOfWork<WriteInput<All[Id]>, OperationOutcome<All[Id]>>
      | BatchOfWork<WriteInput<All[Id]>, OperationOutcome<All[Id]>>
    );
};
