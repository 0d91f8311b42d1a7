/** What every store offers, whatever engine is behind it. Operations see nothing else of storage. */
import type { Inventory } from '../contract/inventory.ts';
import type { Pet } from '../contract/pets.ts';
import { Refusal } from '../contract/refusal.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { ChangedIds } from '../domain/changed-ids.ts';
import type { Clock } from '../domain/clock.ts';
import type { DeliveryBacklog } from '../domain/delivery.ts';
import type { LimitRules, Verdict, WindowState } from '../domain/limit.ts';
import type { PlanName, Quota } from '../domain/plan.ts';
import type { Versions } from '../domain/resources.ts';
import type { Scope } from '../domain/scope.ts';
import type { Trouble } from '../domain/trouble.ts';
import type { Account, accounts, keys } from '../tables/accounts.ts';
import type { events, StoredEvent } from '../tables/events.ts';
import type { ImportRun, imports } from '../tables/imports.ts';
import type { sessions } from '../tables/operators.ts';
import type { pets } from '../tables/pets.ts';
import type { FilterIn, Table } from '../tables/table.ts';
import type { Entities } from '../tables/tables.ts';
import type { deliveries } from '../tables/webhooks.ts';
import type { AuditStore, StoreFacts, UsageStore } from './admin.ts';
import type { EntityReads } from './entity.ts';
import type { Notice } from './outage.ts';
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

/** A way for messages between two threads or processes; what is posted arrives whole, once and in order, or not at all. */
export interface Port {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
}

export interface ServingWorker {
  readonly number: number;
  readonly workers: number;
  readonly port: Port;
}

export type PetFilter = FilterIn<typeof pets> & { readonly ids?: readonly bigint[] | undefined };

export interface PetStore extends EntityReads<typeof pets> {
  list(after?: bigint, limit?: number, filter?: PetFilter): Awaitable<Pet[]>;
  /** How many there are in each status, of one category or of all. Costs alike at any size. */
  inventory(categoryId?: bigint): Awaitable<Inventory>;
}

export interface AccountFilter {
  readonly name?: string | undefined;
  readonly isClosed?: boolean | undefined;
}

/** Where a page of accounts begins: behind this one. With a name filter they are in the order of their folded names. */
export type AccountPosition = Pick<Account, 'id' | 'name'>;

export interface AccountStore extends EntityReads<typeof accounts> {
  /** Up to `limit` accounts behind `after`, by ascending id, with a name filter by folded name and id. Costs alike at any size. */
  search(after: AccountPosition | undefined, limit: number, filter: AccountFilter): Awaitable<Account[]>;
}

export interface FirstAccount {
  readonly name: string;
  readonly plan: Exclude<PlanName, 'enterprise'>;
  /** Unix ms. */
  readonly createdAt: number;
}

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

export interface KeyStore extends EntityReads<typeof keys> {
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
  /** The verdict of a request now, admitted or banned. Counts nothing, opens no window and is no strike. */
  standing(caller: Caller): Awaitable<{ readonly verdict: Verdict; readonly versions: Versions }>;
  /** Checks and counts one request of the caller as read under `callersVersion`, in one atomic step. */
  take(caller: Caller, callersVersion: number): Awaitable<Admission>;
  /** Gives back what a request took that is answered for nothing (503). */
  refund(caller: Caller, taken: Verdict): Awaitable<Verdict>;
  fail(address: string): Awaitable<FailureVerdict>;
  /** The same for an unknown key; undefined, with nothing counted, when `callersVersion` is no longer current. */
  failUnder(address: string, callersVersion: number): Awaitable<FailureVerdict | undefined>;
  peek(address: string): Awaitable<WindowState>;
  bans(): Awaitable<Ban[]>;
  /** Ends the ban and forgets its strikes and level; false when the key is not banned. */
  lift(keyId: number): Awaitable<boolean>;
}

export interface ImportStore extends EntityReads<typeof imports> {
  findParts(content: string): Awaitable<ImportRun[]>;
}

export interface EventStore {
  /** Up to `limit` events behind the id `after`, ascending. */
  list(after: bigint, limit: number): Awaitable<StoredEvent[]>;
  /** Up to `limit` of the newest events, newest first. */
  newest(limit: number): Awaitable<StoredEvent[]>;
  /** The highest id that was given out, and the id from which on events are retained: one above it if there are none. */
  bounds(): Awaitable<EventBounds>;
}

export interface DeliveryStore extends EntityReads<typeof deliveries> {
  backlog(): Awaitable<DeliveryBacklog>;
}

export interface EventBounds {
  readonly oldest: bigint;
  readonly last: bigint;
}

export type EntityStores = { readonly [Name in keyof Entities]: EntityReads<Entities[Name]> };

/** What a store of either engine is opened with. */
export interface StoreSettings<All extends Units = Units> {
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process serves requests, or supervises workers that do. */
  readonly serving: boolean;
  /** Whether an embedded store that is missing, or the tables of an empty database, are created. */
  readonly create: boolean;
  readonly units: All;
  /** Receives outages and recoveries. */
  readonly notice: Notice;
  /** Whether changes are recorded as events; defaults to true. */
  readonly events?: boolean;
}

export interface Storage<All extends Units = Units> extends EntityStores, Writer<All>, AsyncDisposable {
  /** Whether opening it made it; not known of a store across the network. */
  readonly created?: boolean;
  /** How the connections to its server are protected on their way, in words; undefined where there is no server. */
  readonly encryption?: string;
  readonly pets: PetStore;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly limits: LimitStore;
  readonly changedIds?: ChangedIds;
  readonly imports: ImportStore;
  readonly deliveries: DeliveryStore;
  readonly events: EventStore & Pick<EntityReads<typeof events>, 'findMany'>;
  readonly sessions: EntityReads<typeof sessions>;
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  /** What the store tells of itself: engine, format, sizes, groups that this process committed. */
  facts(): Awaitable<StoreFacts>;
  /** Performs the writes of a worker; dispose of it when that process has ended. Undefined where every process writes itself. */
  readonly serveWorker?: (worker: number, port: Port) => Disposable;
  /** What does not work, without asking anybody. Throws `StorageUnavailable` when no request can be answered. */
  health(): Trouble[];
  /** Resolves with the reason when the process has to end, for it cannot write any more; undefined where that cannot be. */
  readonly lost?: Promise<Error>;
  /** How long processes may go without noticing a change that another one acknowledged, in ms. */
  readonly staleAtMostMs: number;
}

export type TableValue = string | bigint | null;

export type TableRow = readonly TableValue[];

/** Why rows do not fit what a store holds, which was changed meanwhile: a key is taken, or what they refer to is missing. */
export type RowConflict = 'taken' | 'missing';

/** A store as plain rows, to move it from one engine to another. */
export interface Tables extends AsyncDisposable {
  count(table: Table): Promise<number>;
  /** Up to `limit` rows behind this one, by ascending key. */
  rows(table: Table, after: TableRow | undefined, limit: number): Promise<TableRow[]>;
  /** Adds all of the rows, or none and tells why. Ids given out later are above theirs. */
  add(table: Table, rows: readonly TableRow[]): Promise<RowConflict | undefined>;
}
