/** What every store offers, whatever engine is behind it. Operations see nothing else of storage. */
import type { Category } from '../contract/categories.ts';
import type { Inventory } from '../contract/inventory.ts';
import type { Order, OrderStatus } from '../contract/orders.ts';
import type { Pet, PetStatus } from '../contract/pets.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Verdict, WindowState } from '../domain/limit.ts';
import type { PlanName, Quota } from '../domain/plan.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Versions } from '../domain/resources.ts';
import type { Scope } from '../domain/scope.ts';
import type { Trouble } from '../domain/trouble.ts';
import type {
  AuditStore,
  InstanceStore,
  OperatorStore,
  SessionStore,
  StoreFacts,
  UsageStore,
} from './admin.ts';
import type { Port } from './port.ts';
import type { TableName } from './tables.ts';
import type { Units, Writer } from './transaction.ts';

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
export interface ServingWorker {
  /** From 1. */
  readonly number: number;
  /** How many there are. */
  readonly workers: number;
  /** The way to the supervising process's store. */
  readonly port: Port;
}

/** Which animals: those that fit all that is given. */
export interface PetFilter {
  readonly ids?: readonly bigint[] | undefined;
  readonly status?: PetStatus | undefined;
  readonly categoryId?: bigint | undefined;
}

export interface PetStore {
  find(id: bigint): Awaitable<Pet | undefined>;
  /** Up to `limit` animals with an id above `after`, by ascending id. Costs alike at any depth and size, whatever the filter. */
  list(after: bigint, limit: number, filter?: PetFilter): Awaitable<Pet[]>;
  /** How many there are in each status, of one category or of all. Costs alike at any size. */
  inventory(categoryId?: bigint): Awaitable<Inventory>;
}

export interface CategoryStore {
  find(id: bigint): Awaitable<Category | undefined>;
  /** Up to `limit` categories with an id above `after`, by ascending id; from the lowest on when that is undefined. */
  list(after: bigint | undefined, limit: number): Awaitable<Category[]>;
}

/** Which orders: those that fit all that is given. */
export interface OrderFilter {
  readonly status?: OrderStatus | undefined;
  readonly petId?: bigint | undefined;
}

export interface OrderStore {
  find(id: bigint): Awaitable<Order | undefined>;
  /** Up to `limit` orders with an id above `after`, by ascending id. Costs alike at any depth and size, whatever the filter. */
  list(after: bigint, limit: number, filter?: OrderFilter): Awaitable<Order[]>;
}

export interface Account {
  readonly id: number;
  readonly name: string;
  readonly plan: PlanName;
  readonly quota: Quota;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms; `null` while it is open. The keys of a closed account find no caller. */
  readonly closedAt: number | null;
}

export type NewAccount = Omit<Account, 'id' | 'closedAt'>;

/** Which accounts: those that fit all that is given. */
export interface AccountFilter {
  /** What the name begins with, in upper or lower case. */
  readonly name?: string | undefined;
  readonly isClosed?: boolean | undefined;
}

/** Where a page of accounts begins: behind this one. With a name filter they are in the order of their folded names. */
export type AccountPosition = Pick<Account, 'id' | 'name'>;

export interface AccountStore {
  /** Up to `limit` accounts behind `after`, by ascending id, with a name filter by folded name and id. Costs alike at any size. */
  list(after: AccountPosition | undefined, limit: number, filter?: AccountFilter): Awaitable<Account[]>;
  find(id: number): Awaitable<Account | undefined>;
  /** Those with these ids, in any order. */
  findMany(ids: readonly number[]): Awaitable<Account[]>;
}

export interface Key {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly lastFour: string;
  /** In the order of `scopes`, each once. */
  readonly scopes: readonly Scope[];
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
  readonly plan: PlanName;
  readonly quota: Quota;
  readonly scopes: ReadonlySet<Scope>;
  /** Unix ms, `Infinity` for never. */
  readonly expiresAt: number;
}

export interface KeyFingerprint {
  readonly id: number;
  readonly fingerprint: string;
}

export interface KeyStore {
  /** Up to `limit` keys with an id above `after`, by ascending id; of one account, or of all. */
  list(after: number, limit: number, accountId?: number): Awaitable<Key[]>;
  find(id: number): Awaitable<Key | undefined>;
  /** Those with these ids, in any order. */
  findMany(ids: readonly number[]): Awaitable<Key[]>;
  /** Up to `limit` keys that were ever made, from the one with the id `fromId` on, by ascending id. */
  fingerprints(fromId: number, limit: number): Awaitable<KeyFingerprint[]>;
  /** Revoked keys are not found, nor those of closed accounts. */
  findCaller(fingerprint: string): Awaitable<Caller | undefined>;
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
  /**
   * What a request of the caller would be told now: as admitted, with what is left, or as banned. Counts nothing, opens no
   * window and is no strike.
   */
  standing(caller: Caller): Awaitable<{ readonly verdict: Verdict; readonly versions: Versions }>;
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
  /** SHA-256 of the whole input; a part of it has what it is behind it (`…:9`, `…:1?status=sold`). */
  readonly source: string;
  /** The last input line whose fate (in or rejected) is committed. */
  readonly lastLine: number;
  readonly added: number;
  readonly rejected: number;
  readonly finished: boolean;
}

export interface ImportStore {
  find(source: string): Awaitable<ImportRun | undefined>;
  /** The runs of parts of the input with this SHA-256. */
  findParts(content: string): Awaitable<ImportRun[]>;
}

export interface Storage<All extends Units = Units> extends Writer<All>, AsyncDisposable {
  /** Whether opening it made it; not known of a store across the network. */
  readonly created?: boolean;
  /** How the connections to its server are protected on their way, in words; undefined where there is no server. */
  readonly encryption?: string;
  readonly pets: PetStore;
  readonly categories: CategoryStore;
  readonly orders: OrderStore;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly limits: LimitStore;
  readonly imports: ImportStore;
  readonly operators: OperatorStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  readonly instances: InstanceStore;
  /** What the store tells of itself: engine, format, sizes, groups that this process committed. */
  facts(): Awaitable<StoreFacts>;
  /**
   * Does the writes of a worker, another process of the same service, that reaches this one through the port. Disposed of
   * when that process has ended, however it did. Missing where every process does all by itself.
   */
  readonly serveWorker?: (worker: number, port: Port) => Disposable;
  /**
   * What does not work, as far as is known: asks nobody, so that it answers at once. Empty when all works. Throws
   * `StorageUnavailable` when no request can be answered.
   */
  health(): Trouble[];
  /** Resolves with the reason when the process has to end, for it cannot write any more; undefined where that cannot be. */
  readonly lost?: Promise<Error>;
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
  /** Up to `limit` rows behind this one, by ascending key. */
  rows(table: TableName, after: TableRow | undefined, limit: number): Promise<TableRow[]>;
  /** Adds all of the rows, or none and tells why. Ids given out later are above theirs. */
  add(table: TableName, rows: readonly TableRow[]): Promise<RowConflict | undefined>;
}
