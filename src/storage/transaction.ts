/** How a store is changed: by units of work, each within a transaction. */
import type { NewPet, Pet } from '../contract/schemas.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { PlanName, Quota } from '../domain/plan.ts';
import type { Account, FirstAccount, ImportRun, Key, NewAccount, NewKey } from './storage.ts';

/** What a unit of work changes within its transaction. */
export interface Transaction {
  readonly pets: PetWrites;
  readonly accounts: AccountWrites;
  readonly keys: KeyWrites;
  readonly imports: ImportWrites;
}

export interface PetWrites {
  /** Adds the animals; their ids rise in their order. */
  add(pets: readonly NewPet[]): Awaitable<Pet[]>;
}

export interface AccountWrites {
  create(account: NewAccount): Awaitable<Account>;
  /** Undefined when there is no such account. */
  setPlan(id: number, plan: PlanName, quota: Quota): Awaitable<Account | undefined>;
}

export interface KeyWrites {
  create(key: NewKey): Awaitable<Key>;
  /**
   * Makes the first key there ever was, and its account. An account that stands there alone, as this would make it, gets
   * the key: a start of version 1.0.0 broke off in between. Undefined when there are others or a key, and for all but one
   * of the processes that try.
   */
  createFirst(account: FirstAccount, key: Omit<NewKey, 'accountId'>): Awaitable<Key | undefined>;
  /**
   * Stores the successor and lets the old key end at `oldEndsAt` (Unix ms). Undefined, and nothing done, unless the old
   * key is live when the successor is made: there, not revoked, not expired, not rotated.
   */
  rotate(oldId: number, oldEndsAt: number, successor: NewKey): Awaitable<Key | undefined>;
  /** False when there is no such key. Revoking twice keeps the first instant. */
  revoke(id: number, at: number): Awaitable<boolean>;
}

export interface ImportWrites {
  /**
   * Adds the animals and the progress; an input that cannot be read again (a pipe) has no run. `fromLine` is the last
   * line of the stored run it goes on from, 0 for none. Undefined, and nothing done, when the stored run is at another
   * line: two imports of the same input at once would add its animals twice.
   */
  commit(pets: readonly NewPet[], run?: ImportRun, fromLine?: number): Awaitable<Pet[] | undefined>;
}

/**
 * A change of the store, done whole or not at all. It may be run again, and in another thread: its input and outcome are
 * plain values. What it throws is its own: a `Refusal` is passed on to whoever asked for it, and what others asked for is
 * done all the same. It does not catch what the transaction throws, for there is no going on after that.
 */
export type UnitOfWork<Input = never, Outcome = unknown> = (
  transaction: Transaction,
  input: Input,
) => Awaitable<Outcome>;

/**
 * A unit of work that refuses nobody, for all who ask for it at the same time: one call of the transaction, which an
 * engine may make one statement.
 */
export interface BatchOfWork<Input = never, Outcome = unknown> {
  /** Returns the outcomes in the order of the inputs. */
  readonly all: (transaction: Transaction, inputs: readonly Input[]) => Awaitable<readonly Outcome[]>;
}

/** All there are, by name. */
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
