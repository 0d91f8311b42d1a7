/** Types of the admin API. Type-only imports keep the contract's code out of the bundle. */
import type * as z from 'zod';
import type { AuditEntry, AuditEntryRow } from '../src/contract/admin/audit.ts';
import type { adminOperations } from '../src/contract/admin/operations.ts';
import type { AccountWebhook } from '../src/contract/admin/webhooks.ts';
import type { Delivery as DeliverySchema } from '../src/contract/deliveries.ts';
import type { Event, EventData as StoredEventData } from '../src/contract/events.ts';
import type { Body, OperationOutcome, Page } from '../src/contract/operation.ts';
import type { Order as OrderSchema } from '../src/contract/orders.ts';
import type {
  Delivery,
  EventRepresentation,
  Order,
  PutCategoryResult,
} from '../src/contract/representations.ts';
import type { Int64 } from './json.ts';

type Rows = typeof adminOperations;
type RowsByRoute = {
  [Id in keyof Rows as Rows[Id]['route']]: Rows[Id];
};

/** An operation, identified by method and path: `GET /accounts/{accountId}`. */
export type Route = keyof RowsByRoute;

/** The type of a value after it is parsed from JSON. 64-bit integers stay exact. */
type JsonValue<T> = T extends bigint
  ? Int64
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? readonly JsonValue<Item>[]
      : { readonly [Name in keyof T]: JsonValue<T[Name]> };

/** A page of a list. */
export interface PageOf<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page, from the `Link` header; undefined on the last page. */
  readonly next: string | undefined;
}

/** Maps a type of the service to its JSON representation. */
type Shown<Outcome> = Outcome extends Order
  ? JsonValue<z.infer<typeof OrderSchema>>
  : Outcome extends PutCategoryResult
    ? JsonValue<PutCategoryResult['category']>
    : Outcome extends AuditEntryRow
      ? AuditEntry
      : Outcome extends EventRepresentation
        ? JsonValue<z.infer<typeof Event>>
        : Outcome extends AccountWebhook
          ? JsonValue<z.infer<typeof AccountWebhook>>
          : Outcome extends Delivery
            ? JsonValue<z.infer<typeof DeliverySchema>>
            : JsonValue<Outcome>;

type ShownOutcome<Outcome> = Outcome extends Page<infer Item> ? PageOf<Shown<Item>> : Shown<Outcome>;

/** The response body of an operation. */
export type ResponseOf<Name extends Route> = ShownOutcome<OperationOutcome<RowsByRoute[Name]>>;

/** An operation that returns a paginated list. */
export type ListRoute = {
  [Name in Route]: OperationOutcome<RowsByRoute[Name]> extends Page<unknown> ? Name : never;
}[Route];

/** The item type of a list operation. */
export type ItemOf<Name extends Route> = ResponseOf<Name> extends PageOf<infer Item> ? Item : never;

type ParamsOf<Row> = Row extends { params: infer Params }
  ? { readonly params: { readonly [Name in keyof Params]: Int64 | string } }
  : { readonly params?: undefined };

type QueryOf<Row> = Row extends { query: infer Query extends z.ZodType }
  ? {
      readonly query?:
        | { readonly [Name in keyof z.input<Query>]?: z.input<Query>[Name] | Int64 | undefined }
        | undefined;
    }
  : { readonly query?: undefined };

type BodyOf<Row> = Row extends { body: infer Sent extends Body }
  ? Sent extends { optional: true }
    ? { readonly body?: JsonValue<z.input<Sent['schema']>> }
    : { readonly body: JsonValue<z.input<Sent['schema']>> }
  : { readonly body?: undefined };

type ConditionOf<Row> = Row extends { preconditions: readonly unknown[] }
  ? { readonly ifMatch?: string | undefined }
  : { readonly ifMatch?: undefined };

interface OperationInput {
  readonly signal?: AbortSignal | undefined;
}

/** An operation's parameters, body and `If-Match` condition. */
export type InputOf<Name extends Route> = ParamsOf<RowsByRoute[Name]> &
  QueryOf<RowsByRoute[Name]> &
  BodyOf<RowsByRoute[Name]> &
  ConditionOf<RowsByRoute[Name]> &
  OperationInput;

/** The input as an argument list. The input is optional if none of its members are required. */
export type InputArguments<Name extends Route> =
  Record<never, never> extends InputOf<Name> ? [input?: InputOf<Name>] : [input: InputOf<Name>];

export type Account = ItemOf<'GET /accounts'>;
export type Key = ItemOf<'GET /keys'>;
export type Pet = ItemOf<'GET /pets'>;
export type PlacedOrder = ItemOf<'GET /orders'>;
export type Category = ItemOf<'GET /categories'>;
export type AuditLogEntry = ItemOf<'GET /audit'>;
export type StoredEvent = ItemOf<'GET /events'>;
/** The data of events, by group of event types. */
export type EventData = JsonValue<StoredEventData>;
export type Webhook = ItemOf<'GET /webhooks'>;
export type WebhookDelivery = ItemOf<'GET /webhooks/{webhookId}/deliveries'>;
export type Ban = ResponseOf<'GET /bans'>[number];
export type Overview = ResponseOf<'GET /overview'>;
export type Session = ResponseOf<'GET /session'>;
