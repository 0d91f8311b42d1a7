/** Changes to a store: units of work, each in a transaction. */
import type { SuccessStatus } from '../contract/operation.ts';
import type { NewPet } from '../contract/pets.ts';
import type { Pet } from '../contract/representations.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { LeaseRequest, LeaseResult, RescheduleRequest, SettledDelivery } from '../domain/delivery.ts';
import type { EventType } from '../domain/event-type.ts';
import type { Resource } from '../domain/resources.ts';
import { accounts, keys } from '../tables/accounts.ts';
import type { NewEvent } from '../tables/events.ts';
import { imports } from '../tables/imports.ts';
import { audit } from '../tables/operators.ts';
import { entities } from '../tables/tables.ts';
import type { deliveries } from '../tables/webhooks.ts';
import type { SessionWrites, UsageWrites } from './admin.ts';
import type { EntityWrites } from './entity.ts';

/**
 * Resources that a unit writes do not change between its reads and its commit: they are locked, or the unit runs again
 * if they changed.
 */
export interface Transaction extends EntityTransaction {
  readonly pets: PetWrites;
  readonly storedResponses: ResponseWrites;
  readonly events: EventWrites;
  readonly deliveries: DeliveryWrites;
  readonly sessions: SessionWrites;
  readonly usage: UsageWrites;
}

export const writableTables = { ...entities, accounts, keys, imports, audit } as const;

export type EntityTransaction = {
  readonly [Name in keyof typeof writableTables]: EntityWrites<(typeof writableTables)[Name]>;
};

/** Events for added rows: common values, and the JSON of each row without the row's id, which the store assigns. */
export interface AddedEvents {
  readonly type: EventType;
  /** Unix ms. */
  readonly createdAt: number;
  readonly jsonBehindId: (pet: NewPet) => string;
}

export interface PetWrites {
  /** Adds the animals and assigns ascending ids in the given order. With `events`, adds an event for each animal. */
  add(pets: readonly NewPet[], events?: AddedEvents): Awaitable<Pet[]>;
  find(id: bigint): Awaitable<Pet | undefined>;
  /** Replaces `before`, which `find` returned, with `after`. */
  replace(before: Pet, after: Pet): Awaitable<void>;
  remove(pet: Pet): Awaitable<void>;
}

/** The event outbox. A store with `events: false` records no events. */
export interface EventWrites {
  /** Adds an event after the earlier events of this transaction. */
  add(event: NewEvent): void;
  /**
   * Removes some of the oldest events if they were recorded before the given time (Unix ms). Returns whether more
   * events may remain.
   */
  prune(before: number): Awaitable<boolean>;
  /**
   * Skips an event id, so that readers notice that changes are missing. Returns false, and skips nothing, if earlier
   * events may still lack ids.
   */
  skip(): Awaitable<boolean>;
}

/**
 * The last delivery that was removed, or the lowest id of the next webhook. On PostgreSQL, indexes list removed rows
 * until no transaction can see them, so each step starts after those of the previous step. Id 0 is before the first
 * delivery.
 */
export interface SweepPosition {
  readonly webhookId: bigint;
  readonly status: string;
  readonly id: bigint;
}

export interface DeliveryWrites extends EntityWrites<typeof deliveries> {
  /**
   * Locks the counter of deliveries if a webhook has events to examine, and returns whether it is locked. Must be the first
   * statement of a round: a transaction that has locked the counter may wait for a webhook that the round locks later.
   */
  lockCounter(request: LeaseRequest): Awaitable<boolean>;
  /** Creates deliveries from events, if `isLocked` is true for the counter, and leases some of the due deliveries. */
  lease(request: LeaseRequest, isLocked: Awaitable<boolean>): Awaitable<LeaseResult>;
  /**
   * Stores outcomes. Returns the ids of deliveries whose outcome was not stored, because another transaction has locked
   * them.
   */
  settle(settled: readonly SettledDelivery[]): Awaitable<readonly bigint[]>;
  /**
   * Makes a pending delivery due at `now` (Unix ms), unless an attempt is in progress: it is leased, or another
   * transaction is leasing it or storing its outcome.
   */
  hasten(id: bigint, now: number): Awaitable<void>;
  /** Whether a webhook has fewer than `maxPending` pending deliveries. */
  hasRoom(webhookId: bigint): Awaitable<boolean>;
  /**
   * Adds the paces of some accounts whose webhooks were created before paces existed, and returns whether more may be
   * missing. Until then, `lease` finds none of these webhooks.
   */
  addPaces(): Awaitable<boolean>;
  /**
   * Ends some leases, and returns whether more may remain. Call this only after the processes that hold the leases have
   * exited. The deliveries are due after a delay, because sending one of them may have crashed the process.
   */
  release(now: number): Awaitable<boolean>;
  /** Ends some of the leases that end at these times (Unix ms), without an attempt. The deliveries are due at once. */
  releaseLost(leasedUntil: readonly number[], now: number): Awaitable<void>;
  /**
   * Makes deliveries due whose times were set before the clock was set back, among some of the pending deliveries after
   * an id. The first call, with the id 0, also moves the last successes of webhooks from the future to the present.
   * Returns the id for the next call; undefined if there are no more.
   */
  reschedule(request: RescheduleRequest): Awaitable<bigint | undefined>;
  /**
   * Moves the position of a webhook back to `after`, and makes pending deliveries of later events due, except for those
   * in flight. Returns false and changes nothing while deliveries of an earlier redelivery are due.
   */
  startRedelivery(webhookId: bigint, after: bigint, now: number): Awaitable<boolean>;
  /**
   * Removes some deliveries of a deleted webhook, and the webhook when it has none left. `after` is the result of the
   * previous call. Returns undefined if there are no more.
   */
  sweep(after: SweepPosition | null): Awaitable<SweepPosition | undefined>;
  /**
   * Removes some deliveries that finished before the given time (Unix ms). Returns whether more deliveries may remain.
   */
  prune(before: number): Awaitable<boolean>;
  /**
   * Removes some of the finished deliveries of a webhook, except for the newest `keep` of each status. `after` is the
   * result of the previous call. Returns undefined if there are no more.
   */
  trim(keep: number, after: SweepPosition | null): Awaitable<SweepPosition | undefined>;
}

export interface ResponseKey {
  readonly accountId: number;
  readonly key: string;
}

/** The response of a successful request, stored so that retries return it again (`Idempotency-Key`). */
export interface StoredResponse extends ResponseKey {
  readonly request: string;
  readonly status: SuccessStatus;
  readonly body: string | null;
  readonly location: string | null;
  /** The store's time (`Clock.storeTime`), Unix ms. */
  readonly keptAt: number;
}

/** If another transaction has stored a response since `find`, the transaction runs again. */
export interface ResponseWrites {
  /** The responses stored for each of these keys since `since` (Unix ms), in the order of the keys. */
  find(keys: readonly ResponseKey[], since: number): Awaitable<(StoredResponse | undefined)[]>;
  /**
   * Stores responses, which replace older responses with the same keys. Removes some responses that were stored before
   * `since` (Unix ms).
   */
  keep(storedResponses: readonly StoredResponse[], since: number): Awaitable<void>;
  /** Deletes some responses stored before `since` (Unix ms). Returns whether more responses may remain. */
  prune(since: number): Awaitable<boolean>;
}

/**
 * An atomic change to the store. A unit may run more than once, and in another thread, so its input and outcome are
 * plain values. An error thrown by a unit, such as an `ApiError`, is passed only to the unit's caller; other units of the
 * group still succeed. A unit must not catch errors of the transaction, because the transaction cannot continue after
 * an error.
 */
export interface UnitOfWork<Input = never, Outcome = unknown> {
  /** Resources that the unit may change, or that must not change before the unit is committed. */
  readonly writes: readonly Resource[];
  /** The resources in `writes` that the unit needs for a given input; defaults to all of `writes`. */
  readonly writesFor?: (input: Input) => readonly Resource[];
  readonly run: (transaction: Transaction, input: Input) => Awaitable<Outcome>;
  /**
   * Throws if the caller may not get the stored response of a repeated request (`Idempotency-Key`). The request may have
   * been sent with another key of the account.
   */
  readonly checkReplay?: (
    transaction: Transaction,
    input: Input,
    response: { readonly body: string | undefined },
  ) => Awaitable<void>;
}

/**
 * A unit that never throws an `ApiError`, and that runs once for all concurrent callers. By default, the unit makes one
 * call to the transaction, which may become a single statement.
 */
export interface BatchOfWork<Input = never, Outcome = unknown> {
  readonly writes: readonly Resource[];
  /** Whether the batch makes several calls to the transaction, each for all inputs. */
  readonly isSeveralCalls?: true;
  readonly all: (transaction: Transaction, inputs: readonly Input[]) => Awaitable<readonly Outcome[]>;
}

export type Units = Readonly<Record<string, UnitOfWork | BatchOfWork>>;

export type UnitInput<Unit> =
  Unit extends BatchOfWork<infer Input, infer _>
    ? Input
    : Unit extends UnitOfWork<infer Input, infer _>
      ? Input
      : never;

export type UnitOutcome<Unit> =
  Unit extends BatchOfWork<never, infer Outcome>
    ? Outcome
    : Unit extends UnitOfWork<never, infer Outcome>
      ? Outcome
      : never;

export interface Writer<All extends Units> {
  /**
   * Runs a unit of work. Concurrent units are committed in a group. Resolves with the unit's outcome once its changes
   * are durable. Rejects with the unit's error, with `StorageUnavailable` if nothing was changed, or with
   * `WriteUncertainError`.
   */
  write<Name extends keyof All & string>(
    name: Name,
    input: UnitInput<All[Name]>,
  ): Promise<UnitOutcome<All[Name]>>;
}
