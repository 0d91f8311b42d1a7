/** The interface that the stores of all engines implement. Operations do not depend on any engine. */
import type { Inventory } from '../contract/pets.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Caller } from '../domain/caller.ts';
import type { ChangedIds } from '../domain/changed-ids.ts';
import type { Clock } from '../domain/clock.ts';
import type { DeliveryBacklog, SendableEvents } from '../domain/delivery.ts';
import type { JsonRows } from '../domain/json-rows.ts';
import type { PlanName } from '../domain/plan.ts';
import type { Resource, UnversionedResource } from '../domain/resources.ts';
import type { Trouble } from '../domain/troubles.ts';
import type { Notify } from '../outages/outage.ts';
import type { Account, accounts, keys } from '../tables/accounts.ts';
import type { events, StoredEvent } from '../tables/events.ts';
import type { ImportRun, imports } from '../tables/imports.ts';
import type { sessions } from '../tables/operators.ts';
import type { pets } from '../tables/pets.ts';
import type { FilterOf, Table } from '../tables/table.ts';
import type { Entities } from '../tables/tables.ts';
import type { deliveries } from '../tables/webhooks.ts';
import type { AuditStore, SearchStore, StoreFacts, UsageStore } from './admin.ts';
import type { DeclaredFilter, EntityReads } from './entity.ts';
import type { Units, Writer } from './transaction.ts';

/**
 * A channel for messages between two threads or processes. Messages arrive in order. Each message arrives complete and
 * exactly once, or not at all.
 */
export interface MessagePortLike {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
}

export interface ServingWorker {
  readonly number: number;
  readonly workers: number;
  readonly port: MessagePortLike;
}

export type PetFilter = FilterOf<typeof pets> & { readonly ids?: readonly bigint[] | undefined };

export interface PetStore extends EntityReads<typeof pets> {
  /**
   * Like `list`, but returns JSON, and optionally only the animals with certain ids. The JSON of an animal is that of
   * `petJson`.
   */
  listJson<Given extends PetFilter>(
    after: bigint | undefined,
    limit: number,
    filter?: DeclaredFilter<PetFilter, Given>,
  ): Awaitable<JsonRows>;
  /**
   * Number of animals in each status, in one category or in all categories. The cost does not depend on the number of
   * animals.
   */
  inventory(categoryId?: bigint): Awaitable<Inventory>;
  /** Up to `limit` categories after the id `after` that have animals, by ascending id. */
  categoriesInUse(
    after: bigint | undefined,
    limit: number,
  ): Awaitable<(Inventory & { readonly id: bigint })[]>;
}

export interface AccountFilter {
  readonly name?: string | undefined;
  readonly isClosed?: boolean | undefined;
}

/** The account after which a page begins. With a name filter, accounts are ordered by their folded names. */
export type AccountPosition = Pick<Account, 'id' | 'name'>;

export interface AccountStore extends EntityReads<typeof accounts> {
  /**
   * Up to `limit` accounts after `after`, by ascending id, or by ascending folded name and id with a name filter. The
   * cost does not depend on the number of accounts.
   */
  search(after: AccountPosition | undefined, limit: number, filter: AccountFilter): Awaitable<Account[]>;
}

export interface FirstAccount {
  readonly name: string;
  readonly plan: Exclude<PlanName, 'enterprise'>;
  /** Unix ms. */
  readonly createdAt: number;
}

export interface KeyFingerprint {
  readonly id: number;
  readonly fingerprint: string;
}

export interface KeyStore extends EntityReads<typeof keys> {
  /** Up to `limit` keys with the id `fromId` or higher, by ascending id, including keys that are no longer active. */
  fingerprints(fromId: number, limit: number): Awaitable<KeyFingerprint[]>;
  /** Does not find revoked keys or keys of closed accounts. */
  findCaller(fingerprint: string): Awaitable<Caller | undefined>;
}

export interface ImportStore extends EntityReads<typeof imports> {
  findParts(content: string): Awaitable<ImportRun[]>;
}

export interface EventStore {
  /** Up to `limit` events after the id `after`, ascending. */
  list(after: bigint, limit: number): Awaitable<StoredEvent[]>;
  /** The newest `limit` events, newest first; `before` restricts them to lower ids. */
  newest(limit: number, before?: bigint): Awaitable<StoredEvent[]>;
  /**
   * The highest assigned id and the lowest retained id. Without events, the lowest retained id is one above the highest
   * assigned id.
   */
  bounds(): Awaitable<EventBounds>;
}

export interface DeliveryStore extends EntityReads<typeof deliveries> {
  backlog(): Awaitable<DeliveryBacklog>;
  /**
   * The scopes whose events may be sent to the webhooks of these accounts at `now` (Unix ms). The account must be open and have an active key with the scope.
   */
  sendable(accountIds: readonly number[], now: number): Awaitable<readonly SendableEvents[]>;
}

export interface EventBounds {
  readonly oldest: bigint;
  readonly last: bigint;
}

export type EntityStores = { readonly [Name in keyof Entities]: EntityReads<Entities[Name]> };

/** Options for opening a store on either engine. */
export interface StoreSettings<All extends Units = Units> {
  readonly clock: Clock;
  /** Whether this process serves requests, or supervises workers that serve requests. */
  readonly isServing: boolean;
  /** Whether to create a missing embedded store, or the tables of an empty database. */
  readonly create: boolean;
  /** Whether to upgrade a store of an older version instead of rejecting it. */
  readonly migrates: boolean;
  readonly units: All;
  /** Called when an outage begins or ends. */
  readonly notice: Notify;
  /** Whether to record changes as events; defaults to true. */
  readonly events?: boolean;
}

/** Reads for clients, which may be served by replicas. */
export type ReplicatedReads = Pick<Storage, Exclude<Resource, 'callers'> | UnversionedResource>;

export interface Storage<All extends Units = Units> extends EntityStores, Writer<All>, AsyncDisposable {
  /** Whether opening the store created it; undefined for a store on a server. */
  readonly created?: boolean;
  /** Describes how connections to the server are encrypted; undefined for a store without a server. */
  readonly encryption?: string;
  /** The clock used for all timestamps in the store: the database server's, or this machine's. */
  readonly clock: Clock;
  readonly pets: PetStore;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly changedIds?: ChangedIds;
  readonly imports: ImportStore;
  readonly deliveries: DeliveryStore;
  readonly events: EventStore & Pick<EntityReads<typeof events>, 'findMany'>;
  readonly sessions: EntityReads<typeof sessions>;
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  /**
   * Reads for a counted request, from replicas that have every change that the request must see; undefined without
   * replicas.
   */
  readonly replicated?: ReplicatedReads;
  readonly search: SearchStore;
  /** Information about the store: engine, format, sizes, and the groups that this process committed. */
  facts(): Awaitable<StoreFacts>;
  /**
   * Executes a worker's writes. Dispose of the result after the worker has exited. Undefined if every process writes to
   * the store directly.
   */
  readonly serveWorker?: (worker: number, port: MessagePortLike) => Disposable;
  /** Returns the known failures, without performing I/O. Throws `StorageUnavailable` if no request can be served. */
  health(): Trouble[];
  /**
   * Resolves with the reason when the process must exit because it can no longer write; undefined if the engine cannot
   * fail in this way.
   */
  readonly writerLost?: Promise<Error>;
  /**
   * Reason why acknowledged changes may exist only in files that this process keeps open; undefined if there is no such
   * risk, or if the store is on a server.
   */
  readonly dataLoss?: () => string | undefined;
  /** Maximum delay until a process sees a change that another process acknowledged, in ms. */
  readonly maxStaleMs: number;
}

export type TableValue = string | bigint | null;

export type TableRow = readonly TableValue[];

/** Reason why rows cannot be added: a key is taken, or a referenced row is missing. */
export type RowConflict = 'taken' | 'missing';

/** A store as plain rows, for copying it to another engine. */
export interface Tables extends AsyncDisposable {
  /** The time of the database server (Unix ms); undefined for an embedded store. */
  now?(): Promise<number>;
  count(table: Table): Promise<number>;
  /** Up to `limit` rows after the row `after`, by ascending key. */
  rows(table: Table, after: TableRow | undefined, limit: number): Promise<TableRow[]>;
  /**
   * Adds all rows, or adds none and returns the conflict. Ids assigned later are higher than those of the added rows.
   */
  add(table: Table, rows: readonly TableRow[]): Promise<RowConflict | undefined>;
  /**
   * Sets or clears the flag for the target of an unfinished copy. Other processes do not open a store with this flag.
   */
  setUnfinished(isUnfinished: boolean): Promise<void>;
}

/** The contents of a store or a backup. */
export interface StoreContents {
  readonly format: number;
  /** The newest format that this version can serve. */
  readonly newestFormat: number;
  /** Number of rows, by table. */
  readonly counts: Readonly<Record<string, number>>;
  /** Size of the data file; `null` for a store on a server. */
  readonly bytes: number | null;
}
