/** The bodies and error codes of the API. Generated from contract/openapi.json by `npm run contract`. */

/** A 64-bit integer in a request. A `number` must be a safe integer. */
export type Int64 = bigint | number;

/** Availability of the animal. */
export type PetStatus = 'available' | 'pending' | 'sold';

/** An animal to add. */
export interface NewPet {
  /** The animal's name. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly name: string;
  /** ID of the category that the animal belongs to. */
  readonly categoryId: Int64;
  /** Availability of the animal. Defaults to `available`. */
  readonly status?: PetStatus | undefined;
}

/** Changes to an animal. Omitted fields are unchanged. */
export interface PetPatch {
  /** The animal's name. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly name?: string | undefined;
  /** ID of the category that the animal belongs to. */
  readonly categoryId?: Int64 | undefined;
  readonly status?: PetStatus | undefined;
}

/** The name of a category. */
export interface CategoryName {
  /** The category's name. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly name: string;
}

/** An order to place. */
export interface NewOrder {
  /** ID of the ordered animal. */
  readonly petId: Int64;
  /** The client's reference. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly reference?: string | undefined;
}

/** Status of the order. */
export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'returned' | 'cancelled';

/** A webhook to create. */
export interface NewWebhook {
  /** URL that receives the events. It must use `https`, resolve only to public addresses, and have no user name, password or fragment. */
  readonly url: string;
  /** Types of the events to send. Defaults to all types that the key may read. */
  readonly types?: readonly EventSelector[] | undefined;
  /** Purpose of the webhook. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly description?: string | undefined;
}

/** A type of event, or all types of a resource: `pet.*` selects all events about animals, including `pets.imported`. */
export type EventSelector = 'pet.created' | 'pet.updated' | 'pet.deleted' | 'pets.imported' | 'order.placed' | 'order.approved' | 'order.delivered' | 'order.cancelled' | 'order.returned' | 'category.created' | 'category.updated' | 'category.deleted' | 'webhook.disabled' | 'pet.*' | 'order.*' | 'category.*' | 'webhook.*';

/** Changes to a webhook. Omitted fields are unchanged. `null` removes the description. */
export interface WebhookPatch {
  /** Whether events are sent. */
  readonly enabled?: boolean | undefined;
  /** URL that receives the events. It must use `https`, resolve only to public addresses, and have no user name, password or fragment. */
  readonly url?: string | undefined;
  /** Types of the events to send. */
  readonly types?: readonly EventSelector[] | undefined;
  /** Purpose of the webhook. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly description?: string | null | undefined;
}

/** The events to send again. */
export interface Redelivery {
  /** All events after this id are sent again. */
  readonly after: Int64;
}

/** `pending` until the receiver accepts the event, or the last attempt fails. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed';

/** A recorded event, or the event `webhook.test`. */
export type SentEvent = PetCreatedEvent | PetUpdatedEvent | PetDeletedEvent | PetsImportedEvent | OrderPlacedEvent | OrderApprovedEvent | OrderDeliveredEvent | OrderCancelledEvent | OrderReturnedEvent | CategoryCreatedEvent | CategoryUpdatedEvent | CategoryDeletedEvent | WebhookDisabledEvent | WebhookTestEvent;

/** The event `pet.created`. */
export interface PetCreatedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'pet.created';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Pet;
}

/** An animal in the store. */
export interface Pet {
  /** Unique ID, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  /** The animal's name. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly name: string;
  /** ID of the category that the animal belongs to. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

/** The event `pet.updated`. */
export interface PetUpdatedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'pet.updated';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Pet;
}

/** The event `pet.deleted`. */
export interface PetDeletedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'pet.deleted';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Pet;
}

/** The event `pets.imported`. */
export interface PetsImportedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'pets.imported';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: PetsImported;
}

/** A batch of imported animals. Other animals may also have ids in this range. */
export interface PetsImported {
  readonly count: number;
  /** The lowest id in the batch. */
  readonly firstId: bigint;
  /** The highest id in the batch. */
  readonly lastId: bigint;
}

/** The event `order.placed`. */
export interface OrderPlacedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'order.placed';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Order;
}

/** An order for one animal. */
export interface Order {
  /** Unique ID, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  /** ID of the ordered animal. */
  readonly petId: bigint;
  readonly status: OrderStatus;
  /** The client's reference. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly reference?: string | undefined;
  /** Time when the order was placed (UTC). */
  readonly createdAt: string;
  /** Time when the order was placed or its status last changed (UTC). */
  readonly updatedAt: string;
}

/** The event `order.approved`. */
export interface OrderApprovedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'order.approved';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Order;
}

/** The event `order.delivered`. */
export interface OrderDeliveredEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'order.delivered';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Order;
}

/** The event `order.cancelled`. */
export interface OrderCancelledEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'order.cancelled';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Order;
}

/** The event `order.returned`. */
export interface OrderReturnedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'order.returned';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Order;
}

/** The event `category.created`. */
export interface CategoryCreatedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'category.created';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Category;
}

/** The name of an animal category. */
export interface Category {
  /** ID of the category, chosen by the client. */
  readonly id: bigint;
  /** The category's name. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly name: string;
}

/** The event `category.updated`. */
export interface CategoryUpdatedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'category.updated';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Category;
}

/** The event `category.deleted`. */
export interface CategoryDeletedEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'category.deleted';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: Category;
}

/** The event `webhook.disabled`. */
export interface WebhookDisabledEvent {
  /** ID of the event, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  readonly type: 'webhook.disabled';
  /** Time of the change (UTC). */
  readonly timestamp: string;
  readonly data: WebhookDisabled;
}

/** A webhook that was disabled. */
export interface WebhookDisabled {
  /** ID of the webhook. */
  readonly id: bigint;
  /** Reason why the webhook was disabled. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly reason: string;
}

/** The event `webhook.test`, which only a test sends. */
export interface WebhookTestEvent {
  /** Always 0, because the event is not recorded. */
  readonly id: bigint;
  readonly type: 'webhook.test';
  /** Time of the test (UTC). */
  readonly timestamp: string;
  readonly data: WebhookTestData;
}

/** The tested webhook. */
export interface WebhookTestData {
  /** ID of the webhook. */
  readonly id: bigint;
}

/** One mistake in the request. */
export interface ErrorDetail {
  /** Part of the request that contains the mistake. */
  readonly in: 'body' | 'query' | 'header' | 'path';
  /** Name of the field, parameter or header. Empty for the body as a whole. */
  readonly name: string;
  /** The mistake and the expected value. */
  readonly message: string;
}

/** The number of animals in each status. */
export interface Inventory {
  readonly available: number;
  readonly pending: number;
  readonly sold: number;
}

/** A change. Contains the resource after the change, or before its deletion. */
export type Event = PetCreatedEvent | PetUpdatedEvent | PetDeletedEvent | PetsImportedEvent | OrderPlacedEvent | OrderApprovedEvent | OrderDeliveredEvent | OrderCancelledEvent | OrderReturnedEvent | CategoryCreatedEvent | CategoryUpdatedEvent | CategoryDeletedEvent | WebhookDisabledEvent;

/** The account's rate limits and remaining requests. */
export interface RateLimit {
  /** The account's plan. */
  readonly plan: string;
  /** The 60-second window. */
  readonly minute: {
    /** Requests that the plan allows in the window. */
    readonly limit: number;
    /** Requests left in the window. */
    readonly remaining: number;
    /** Time when the window ends (UTC). */
    readonly resetAt: string;
  };
  /** The 86,400-second window. */
  readonly day: {
    /** Requests that the plan allows in the window. */
    readonly limit: number;
    /** Requests left in the window. */
    readonly remaining: number;
    /** Time when the window ends (UTC). */
    readonly resetAt: string;
  };
  /** Time when the ban of the key ends (UTC); null if the key is not banned. */
  readonly bannedUntil: string | null;
}

/** A webhook with its new secret. */
export interface IssuedWebhook {
  /** Unique ID, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  /** URL that receives the events. */
  readonly url: string;
  /** Types of the events to send. */
  readonly types: readonly EventSelector[];
  /** Purpose of the webhook. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly description?: string | undefined;
  /** Whether events are sent. */
  readonly enabled: boolean;
  /** Reason why the webhook is disabled. */
  readonly disabledReason?: string | undefined;
  /** Time when the webhook was created (UTC). */
  readonly createdAt: string;
  /** Secret used to sign the requests (Standard Webhooks). Shown only in this response. */
  readonly secret: string;
}

/** A URL that receives an account's events. */
export interface Webhook {
  /** Unique ID, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  /** URL that receives the events. */
  readonly url: string;
  /** Types of the events to send. */
  readonly types: readonly EventSelector[];
  /** Purpose of the webhook. Stored and returned exactly as sent. Must not be blank or contain control characters. */
  readonly description?: string | undefined;
  /** Whether events are sent. */
  readonly enabled: boolean;
  /** Reason why the webhook is disabled. */
  readonly disabledReason?: string | undefined;
  /** Time when the webhook was created (UTC). */
  readonly createdAt: string;
}

/** The outcome of a request to a receiver. */
export interface WebhookTest {
  /** Status of the response, if there was one. */
  readonly status?: number | undefined;
  /** Duration of the attempt in milliseconds. */
  readonly milliseconds: number;
  /** The first 1,024 bytes of the response. */
  readonly body?: string | undefined;
  /** Reason for the failure. */
  readonly error?: string | undefined;
}

/** The delivery of an event to a webhook. */
export interface Delivery {
  /** Unique ID, assigned on creation, ascending from 1 and never reused. */
  readonly id: bigint;
  /** ID of the event. */
  readonly eventId: bigint;
  readonly type: EventType;
  readonly status: DeliveryStatus;
  /** The attempts so far, oldest first. */
  readonly attempts: readonly {
    /** Time when the request was sent (UTC). */
    readonly at: string;
    /** Status of the response, if there was one. */
    readonly status?: number | undefined;
    /** Duration of the attempt in milliseconds. */
    readonly milliseconds: number;
    /** Reason for the failure. */
    readonly error?: string | undefined;
  }[];
  /** Time of the next attempt (UTC); omitted if there is none. */
  readonly nextAttemptAt?: string | undefined;
}

/** Type of the event. */
export type EventType = 'pet.created' | 'pet.updated' | 'pet.deleted' | 'pets.imported' | 'order.placed' | 'order.approved' | 'order.delivered' | 'order.cancelled' | 'order.returned' | 'category.created' | 'category.updated' | 'category.deleted' | 'webhook.disabled';

/** Filters of listPets. */
export interface ListPetsFilters {
  /** Return only animals with this status. */
  readonly status?: PetStatus | undefined;
  /** Return only animals in this category. */
  readonly categoryId?: Int64 | undefined;
  /** Return only animals with these ids (1 to 100, separated by commas). Can also be repeated. */
  readonly id?: readonly Int64[] | undefined;
  /** Return only animals whose id is greater than or equal to this value. */
  readonly minId?: Int64 | undefined;
  /** Return only animals whose id is less than or equal to this value. */
  readonly maxId?: Int64 | undefined;
}

/** Filters of getInventory. */
export interface GetInventoryFilters {
  /** Count only animals in this category. */
  readonly categoryId?: Int64 | undefined;
}

/** Filters of listOrders. */
export interface ListOrdersFilters {
  /** Return only orders with this status. */
  readonly status?: OrderStatus | undefined;
  /** Return only orders for this animal. */
  readonly petId?: Int64 | undefined;
}

/** Filters of listEvents. */
export interface ListEventsFilters {
  /** Return the events after this id. Defaults to the oldest retained event. */
  readonly after?: Int64 | undefined;
  /** Return only events of these types (at most 17, separated by commas). Can also be repeated. */
  readonly type?: readonly EventSelector[] | undefined;
  /** Seconds to wait for an event before an empty page is returned (long polling). */
  readonly wait?: number | undefined;
  /** `desc` returns the newest events first, searches only the newest 500 events of all types, and cannot be combined with `after` or `wait`. */
  readonly order?: 'asc' | 'desc' | undefined;
}

/** Filters of streamEvents. */
export interface StreamEventsFilters {
  /** Return only events of these types (at most 17, separated by commas). Can also be repeated. */
  readonly type?: readonly EventSelector[] | undefined;
  /** Start with the event after this id. Defaults to the next event that is committed. */
  readonly after?: Int64 | undefined;
}

/** Filters of listDeliveries. */
export interface ListDeliveriesFilters {
  /** Return only deliveries with this status. */
  readonly status?: DeliveryStatus | undefined;
}

/** Error codes by HTTP status. New codes may be added within v1. Treat an unknown code like any other error with its status. */
export interface ErrorCodes {
  readonly 400: 'invalid_body' | 'invalid_cursor' | 'invalid_json' | 'invalid_parameter';
  readonly 401: 'invalid_api_key' | 'missing_api_key';
  readonly 403: 'insufficient_scope';
  readonly 404: 'category_not_found' | 'delivery_not_found' | 'order_not_found' | 'pet_not_found' | 'webhook_not_found';
  readonly 409: 'event_type_not_selected' | 'idempotency_key_in_use' | 'order_transition_not_allowed' | 'pet_not_available' | 'pet_reserved' | 'redelivery_in_progress' | 'status_transition_not_allowed' | 'too_many_deliveries' | 'too_many_webhooks' | 'webhook_disabled';
  readonly 410: 'events_expired' | 'operation_removed';
  readonly 412: 'precondition_failed';
  readonly 413: 'body_too_large';
  readonly 415: 'unsupported_media_type';
  readonly 422: 'idempotency_key_reused';
  readonly 429: 'api_key_banned' | 'daily_quota_exceeded' | 'rate_limit_exceeded' | 'too_many_failed_authentications' | 'too_many_streams';
  readonly 500: 'internal_error';
  readonly 503: 'service_unavailable';
}

/** The 404 codes of DELETE operations. */
export const goneCodes: readonly string[] = ['category_not_found', 'pet_not_found', 'webhook_not_found'];

/** Response members that are returned as `bigint`. */
export const int64Members: readonly string[] = ['after', 'categoryId', 'eventId', 'firstId', 'id', 'lastId', 'petId'];
