export { AnimalStore } from './animal-store.js';
export type { Answer, Call } from './answer.js';
export type { Categories, PutCategoryOptions } from './categories.js';
export type * from './contract.js';
export {
  AnimalStoreError,
  ArgumentError,
  AuthenticationError,
  BannedError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  EventsExpiredError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  PreconditionError,
  RateLimitError,
  RemovedError,
  ServerError,
  TimeoutError,
  UnavailableError,
  WebhookError,
} from './errors.js';
export type { EventPage, EventQuery, Events, FollowOptions, StreamOptions } from './events.js';
export type { Hooks, ReceivedResponse, Retry, SentRequest } from './hooks.js';
export type { InventoryQuery } from './inventory.js';
export { parseJson as parse, stringify } from './json.js';
export type { Limits, LimitWindow } from './limits.js';
export type { List, ListQuery, Page } from './list.js';
export type { OrderQuery, Orders, StepOptions } from './orders.js';
export type { PetQuery, Pets } from './pets.js';
export type { CallOptions, ChangeOptions, PostOptions } from './request.js';
export type { AnimalStoreOptions, Fetch } from './settings.js';
export { type RawHeaders, verifyWebhook, type WebhookEvent } from './webhook.js';
export type { DeliveryQuery, Webhooks } from './webhooks.js';
