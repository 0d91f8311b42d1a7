/** Changes of a store: units of work, each within a transaction. */
import type { SuccessStatus } from '../contract/operation.ts';
import type { NewPet, Pet } from '../contract/pets.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { SettledDelivery, Taken, TakeRequest } from '../domain/delivery.ts';
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
 * Reads of the resources that a unit writes are unchanged at its commit: they are locked, or the unit runs again if
 * they changed.
 */
export interface Transaction extends EntityTransaction {
  readonly pets: PetWrites;
  readonly answers: AnswerWrites;
  readonly events: EventWrites;
  readonly deliveries: DeliveryWrites;
  readonly sessions: SessionWrites;
  readonly usage: UsageWrites;
}

export const written = { ...entities, accounts, keys, imports, audit } as const;

export type EntityTransaction = {
  readonly [Name in keyof typeof written]: EntityWrites<(typeof written)[Name]>;
};

/** Events of added rows: common values, and the JSON of each row without its id, which the store assigns. */
export interface AddedEvents {
  readonly type: EventType;
  /** Unix ms. */
  readonly createdAt: number;
  readonly jsonBehindId: (pet: NewPet) => string;
}

export interface PetWrites {
  /** Adds the animals and assigns ascending ids in their order. With `events`, adds an event for each. */
  add(pets: readonly NewPet[], events?: AddedEvents): Awaitable<Pet[]>;
  find(id: bigint): Awaitable<Pet | undefined>;
  /** Replaces `before`, which `find` returned, by `after`. */
  replace(before: Pet, after: Pet): Awaitable<void>;
  remove(pet: Pet): Awaitable<void>;
}

/** The outbox. A store with `events: false` records none. */
export interface EventWrites {
  /** Adds an event after the earlier ones of this transaction. */
  add(event: NewEvent): void;
  /**
   * Removes some of the oldest events if they are from before an instant (Unix ms). Returns whether there may be more.
   */
  prune(before: number): Awaitable<boolean>;
  /** Leaves a gap after the last event, so that readers notice that changes are missing. */
  skip(): Awaitable<void>;
}

export interface DeliveryWrites extends EntityWrites<typeof deliveries> {
  /** Turns events into deliveries, and leases some that are due. */
  take(request: TakeRequest): Awaitable<Taken>;
  settle(settled: readonly SettledDelivery[]): Awaitable<void>;
  /** Ends all leases. Call this when their processes have ended. */
  release(now: number): Awaitable<void>;
  /** Removes the webhook's pending deliveries of events after `after`, except those in flight. */
  withdraw(webhookId: bigint, after: bigint): Awaitable<void>;
  /** Removes some deliveries that finished before an instant (Unix ms). Returns whether there may be more. */
  prune(before: number): Awaitable<boolean>;
}

export interface AnswerKey {
  readonly accountId: number;
  readonly key: string;
}

/** The response of a successful request, stored for its retries (`Idempotency-Key`). */
export interface KeptAnswer extends AnswerKey {
  readonly request: string;
  readonly status: SuccessStatus;
  readonly body: string | null;
  readonly location: string | null;
  /** Unix ms. */
  readonly keptAt: number;
}

/** The transaction runs again if another one has stored an answer since the search. */
export interface AnswerWrites {
  /** Stored answers for each of these keys since `since` (Unix ms), in their order. */
  find(keys: readonly AnswerKey[], since: number): Awaitable<(KeptAnswer | undefined)[]>;
  /** Replaces older answers with the same keys, and removes some that were stored before `since` (Unix ms). */
  keep(answers: readonly KeptAnswer[], since: number): Awaitable<void>;
  /** Deletes some answers stored before `since` (Unix ms). Returns whether there may be more. */
  prune(since: number): Awaitable<boolean>;
}

/**
 * An atomic change of the store. It may run more than once, and in another thread: its input and outcome are plain
 * values. An error it throws, such as a `Refusal`, is passed to its caller only; other units of the group still
 * succeed. It must not catch errors of the transaction, which cannot continue after one.
 */
export interface UnitOfWork<Input = never, Outcome = unknown> {
  /** Resources that it may change, or that must not change before it is committed. */
  readonly writes: readonly Resource[];
  /** The resources in `writes` that it needs for an input; defaults to all of them. */
  readonly writesFor?: (input: Input) => readonly Resource[];
  readonly run: (transaction: Transaction, input: Input) => Awaitable<Outcome>;
}

/**
 * A unit that never throws a `Refusal`, run once for all concurrent callers: one call of the transaction, which may
 * become one statement.
 */
export interface BatchOfWork<Input = never, Outcome = unknown> {
  readonly writes: readonly Resource[];
  /** Whether it makes several calls of the transaction, each for all inputs. */
  readonly isSeveralCalls?: true;
  readonly all: (transaction: Transaction, inputs: readonly Input[]) => Awaitable<readonly Outcome[]>;
}

export type Units = Readonly<Record<string, UnitOfWork | BatchOfWork>>;

export type InputOf<Unit> =
  Unit extends BatchOfWork<infer Input, infer _>
    ? Input
    : Unit extends UnitOfWork<infer Input, infer _>
      ? Input
      : never;

export type OutcomeOf<Unit> =
  Unit extends BatchOfWork<never, infer Outcome>
    ? Outcome
    : Unit extends UnitOfWork<never, infer Outcome>
      ? Outcome
      : never;

export interface Writer<All extends Units> {
  /**
   * Runs a unit of work. Units that are requested together are committed together. Resolves with its outcome once it is
   * durable. Rejects with the unit's error, or with `StorageUnavailable` if nothing was changed, or with
   * `WriteUncertain`.
   */
  write<Name extends keyof All & string>(
    name: Name,
    input: InputOf<All[Name]>,
  ): Promise<OutcomeOf<All[Name]>>;
}
