/** What every store offers, whatever engine is behind it. Operations see nothing else of storage. */
import type { NewPet, Pet, PetStatus } from '../contract/schemas.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Verdict, WindowState } from '../domain/limit.ts';
import type { PlanName, Quota } from '../domain/plan.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Trouble } from '../domain/trouble.ts';
import type { Port } from './port.ts';
import type { TableName } from './tables.ts';

/** The store cannot do this right now, and nothing was changed: disk full, server gone, lock not had in time. */
export class StorageUnavailable extends Refusal {
  constructor(reason: string, cause?: unknown, message?: string) {
    const more = { cause: new Error(reason, { cause }) };
    super('service_unavailable', message === undefined ? more : { ...more, message });
  }
}

/** The store broke off in the middle of a write: it is done whole or not at all, and which is not known. */
export class WriteUncertain extends StorageUnavailable {
  constructor(reason: string, cause?: unknown) {
    super(
      reason,
      cause,
      'It is unknown whether this request was applied. Check before you retry, after the seconds in the Retry-After header.',
    );
  }
}

/** The store cannot be opened as it is; `message` says why and what to do. */
export class StorageUnusable extends Error {}

/** A serving process among several. */
export interface WorkerSeat {
  /** From 1. */
  readonly index: number;
  /** How many there are. */
  readonly workers: number;
  /** The way to the supervising process's store. */
  readonly port: Port;
}

export interface PetStore {
  /** Resolves after the animal is durable. Rejects with `StorageUnavailable` when it is not stored. */
  add(pet: NewPet): Promise<Pet>;
  find(id: bigint): Awaitable<Pet | undefined>;
  /** Up to `limit` animals with an id above `after`, by ascending id. */
  list(after: bigint, limit: number, status?: PetStatus): Awaitable<Pet[]>;
  count(): Awaitable<number>;
}

export interface Account {
  readonly id: number;
  readonly name: string;
  readonly plan: PlanName;
  readonly quota: Quota;
  /** Unix ms. */
  readonly createdAt: number;
}

export interface AccountStore {
  create(account: Omit<Account, 'id'>): Awaitable<Account>;
  list(): Awaitable<Account[]>;
  find(id: number): Awaitable<Account | undefined>;
  /** Undefined when there is no such account. */
  setPlan(id: number, plan: PlanName, quota: Quota): Awaitable<Account | undefined>;
}

export interface Key {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly lastFour: string;
  /** Unix ms; `null`: never. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The key it was rotated to. */
  readonly successorId: number | null;
}

export type NewKey = Omit<Key, 'id' | 'revokedAt' | 'successorId'> & { readonly fingerprint: string };

/** The account that a new store begins with. */
export interface FirstAccount {
  readonly name: string;
  readonly plan: Exclude<PlanName, 'enterprise'>;
  /** Unix ms. */
  readonly createdAt: number;
}

/** Who calls: what a valid key stands for. */
export interface Caller {
  readonly keyId: number;
  readonly accountId: number;
  readonly quota: Quota;
  /** Unix ms, `Infinity` for never. */
  readonly expiresAt: number;
}

export interface KeyFingerprint {
  readonly id: number;
  readonly fingerprint: string;
}

export interface KeyStore {
  create(key: NewKey): Awaitable<Key>;
  /**
   * Makes the first key there ever was, and its account, in one step. An account that stands there alone, as this would
   * make it, gets the key: a start of version 1.0.0 broke off in between. Undefined when there are others or a key, and
   * for all but one of the processes that try.
   */
  createFirst(account: FirstAccount, key: Omit<NewKey, 'accountId'>): Awaitable<Key | undefined>;
  list(): Awaitable<Key[]>;
  find(id: number): Awaitable<Key | undefined>;
  /** Up to `limit` keys that were ever made, from the one with the id `fromId` on, by ascending id. */
  fingerprints(fromId: number, limit: number): Awaitable<KeyFingerprint[]>;
  /** Revoked keys are not found. */
  findCaller(fingerprint: string): Awaitable<Caller | undefined>;
  /**
   * Stores the successor and lets the old key end at `oldEndsAt` (Unix ms), in one step. Undefined, and nothing done,
   * unless the old key is live when the successor is made: there, not revoked, not expired, not rotated.
   */
  rotate(oldId: number, oldEndsAt: number, successor: NewKey): Awaitable<Key | undefined>;
  /** False when there is no such key. Revoking twice keeps the first instant. */
  revoke(id: number, at: number): Awaitable<boolean>;
}

/**
 * Rise whenever something changed, by this process or any other: what was read under an older version must be
 * read again.
 */
export interface Versions {
  /** Keys, accounts, plans. */
  readonly callers: number;
  readonly pets: number;
}

/** `verdict` is undefined when the caller was read under an older version: nothing was counted, read it again. */
export interface Admission {
  readonly verdict: Verdict | undefined;
  readonly versions: Versions;
}

export interface FailureVerdict {
  readonly state: WindowState;
  readonly refused: boolean;
}

export interface Ban {
  readonly keyId: number;
  /** Unix seconds. */
  readonly bannedUntil: number;
  readonly level: number;
}

export interface LimitStore {
  versions(): Awaitable<Versions>;
  /** Checks and counts one request of the caller as read under `callersVersion`, in one atomic step. */
  take(caller: Caller, callersVersion: number): Awaitable<Admission>;
  /** Gives back what a request took that is answered for nothing (503). */
  refund(caller: Caller, taken: Verdict): Awaitable<Verdict>;
  /** Counts one failed authentication of an address. */
  fail(address: string): Awaitable<FailureVerdict>;
  /**
   * The same for a key that is nobody's under `callersVersion`; undefined when that is not the version any more: nothing
   * was counted, look again.
   */
  failUnder(address: string, callersVersion: number): Awaitable<FailureVerdict | undefined>;
  /** What the address has left, without counting. */
  peek(address: string): Awaitable<WindowState>;
  bans(): Awaitable<Ban[]>;
  /** Ends the ban and forgets its strikes and level; false when the key is not banned. */
  lift(keyId: number): Awaitable<boolean>;
}

/** An import that was begun; its progress is committed together with its animals. */
export interface ImportRun {
  /** SHA-256 of the whole input; a part of it has the line it begins on behind it (`…:9`). */
  readonly source: string;
  /** The last input line whose fate (in or rejected) is committed. */
  readonly lastLine: number;
  readonly added: number;
  readonly rejected: number;
  readonly finished: boolean;
}

/** The stored progress is not the one an import goes on from: another one of the same input is at work. */
export class ImportConflict extends Error {}

export interface ImportStore {
  find(source: string): Awaitable<ImportRun | undefined>;
  /** The runs of parts of the input with this SHA-256. */
  findParts(content: string): Awaitable<ImportRun[]>;
  /**
   * Adds the animals and the progress in one transaction; an input that cannot be read again (a pipe) has no run.
   * `fromLine` is the last line of the stored run it goes on from, 0 for none: two imports of the same input at
   * once would add its animals twice. Throws `ImportConflict` or `StorageUnavailable`, having changed nothing.
   */
  commit(pets: readonly NewPet[], run?: ImportRun, fromLine?: number): Awaitable<Pet[]>;
}

export interface Storage extends AsyncDisposable {
  /** Whether opening it made it; not known of a store across the network. */
  readonly created?: boolean;
  /** How the connections to its server are protected on their way, in words; undefined where there is no server. */
  readonly encryption?: string;
  readonly pets: PetStore;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly limits: LimitStore;
  readonly imports: ImportStore;
  /**
   * What does not work, as far as is known: asks nobody, so that it answers at once. Empty when all works. Throws
   * `StorageUnavailable` when no request can be answered.
   */
  health(): Trouble[];
  /**
   * Does the writes of a worker that reaches this store through a port; disposed of when that process has ended.
   * Missing where every process writes by itself.
   */
  serveWrites?(port: Port): Disposable;
  /** How long processes may go without noticing a change that another one acknowledged, in ms. */
  readonly staleAtMostMs: number;
}

export type TableValue = string | bigint | null;

/** A row as the engines have it in common, its key first. */
export type TableRow = readonly TableValue[];

/** Why rows do not fit what a store holds, which was changed meanwhile: a key is taken, or what they refer to is missing. */
export type RowConflict = 'taken' | 'missing';

/** A store as plain rows, to move it from one engine to another. */
export interface Tables extends AsyncDisposable {
  /** In an order in which no table refers to a later one. */
  readonly tables: readonly TableName[];
  count(table: TableName): Promise<number>;
  /** Up to `limit` rows behind the one with this key, by ascending key. */
  rows(table: TableName, after: TableValue | undefined, limit: number): Promise<TableRow[]>;
  /** Adds all of the rows, or none and tells why. Ids given out later are above theirs. */
  add(table: TableName, rows: readonly TableRow[]): Promise<RowConflict | undefined>;
}
