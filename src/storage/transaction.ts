/** How a store is changed: by units of work, each within a transaction. */
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

/** What a unit reads of the resources it writes is unchanged at its commit: they are locked, or it runs again if they changed. */
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

/** What the events of added rows have in common, and the JSON of each behind its id, which the store assigns. */
export interface AddedEvents {
  readonly type: EventType;
  /** Unix ms. */
  readonly createdAt: number;
  readonly jsonBehindId: (pet: NewPet) => string;
}

export interface PetWrites {
  /** Adds the animals; their ids rise in their order. With `events`, each has one. */
  add(pets: readonly NewPet[], events?: AddedEvents): Awaitable<Pet[]>;
  find(id: bigint): Awaitable<Pet | undefined>;
  /** Stores `after` in the place of `before`, which `find` gave. */
  replace(before: Pet, after: Pet): Awaitable<void>;
  remove(pet: Pet): Awaitable<void>;
}

/** The outbox. A store with `events: false` records none. */
export interface EventWrites {
  /** Adds an event behind those of this transaction that were added before. */
  add(event: NewEvent): void;
  /** Removes some of the oldest events, if they are from before an instant (Unix ms); returns whether there may be more. */
  prune(before: number): Awaitable<boolean>;
  /** Leaves a gap behind the last event, so that readers notice that changes are missing. */
  skip(): Awaitable<void>;
}

export interface DeliveryWrites extends EntityWrites<typeof deliveries> {
  /** Turns events into deliveries, and leases some that are due. */
  take(request: TakeRequest): Awaitable<Taken>;
  settle(settled: readonly SettledDelivery[]): Awaitable<void>;
  /** Ends all leases: their processes are gone. */
  release(now: number): Awaitable<void>;
  /** Removes the webhook's pending deliveries of events behind `after`, except those in flight. */
  withdraw(webhookId: bigint, after: bigint): Awaitable<void>;
  /** Removes some that finished before an instant (Unix ms); returns whether there may be more. */
  prune(before: number): Awaitable<boolean>;
}

export interface AnswerKey {
  readonly accountId: number;
  readonly key: string;
}

/** What a success answered, kept for repetitions of the same request (`Idempotency-Key`). */
export interface KeptAnswer extends AnswerKey {
  readonly request: string;
  readonly status: SuccessStatus;
  readonly body: string | null;
  readonly location: string | null;
  /** Unix ms. */
  readonly keptAt: number;
}

/** A transaction in which another one has kept an answer since it was looked for is run again. */
export interface AnswerWrites {
  /** What is kept under each of these keys and was so at `since` (Unix ms) or later, in their order. */
  find(keys: readonly AnswerKey[], since: number): Awaitable<(KeptAnswer | undefined)[]>;
  /** Replaces older answers with the same keys, and removes some that were kept before `since` (Unix ms). */
  keep(answers: readonly KeptAnswer[], since: number): Awaitable<void>;
  /** Removes some that were kept before `since` (Unix ms); tells whether there may be more. */
  prune(since: number): Awaitable<boolean>;
}

/**
 * A change of the store, done whole or not at all. It may be run again, and in another thread: its input and outcome are
 * plain values. What it throws is its own: a `Refusal` is passed on to whoever asked for it, and what others asked for is
 * done all the same. It does not catch what the transaction throws, for there is no going on after that.
 */
export interface UnitOfWork<Input = never, Outcome = unknown> {
  /** The resources that it may change, or that stay as they are until it is done. */
  readonly writes: readonly Resource[];
  /** Those of `writes` that it needs for an input; defaults to all of them. */
  readonly writesFor?: (input: Input) => readonly Resource[];
  readonly run: (transaction: Transaction, input: Input) => Awaitable<Outcome>;
}

/** A unit that never refuses, for all concurrent callers: one call of the transaction, which may become one statement. */
export interface BatchOfWork<Input = never, Outcome = unknown> {
  readonly writes: readonly Resource[];
  /** It makes several calls of the transaction, each for all who ask. */
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
   * Runs a unit of work; those that are asked for together are committed together. Resolves with its outcome once it is
   * durable. Rejects with what the unit throws, or with `StorageUnavailable` when nothing was changed, or with
   * `WriteUncertain`.
   */
  write<Name extends keyof All & string>(
    name: Name,
    input: InputOf<All[Name]>,
  ): Promise<OutcomeOf<All[Name]>>;
}
