import { Call } from './answer.js';
import type {
  Delivery,
  Int64,
  IssuedWebhook,
  ListDeliveriesFilters,
  NewWebhook,
  Redelivery,
  Webhook,
  WebhookPatch,
  WebhookTest,
} from './contract.js';
import { List, type ListQuery } from './list.js';
import type { ApiRequest, CallOptions, ChangeOptions, PostOptions, Send } from './request.js';

/** Filters and paging for `deliveries`. */
export interface DeliveryQuery extends ListQuery, ListDeliveriesFilters {}

/**
 * The account's webhooks. All calls require the `webhooks:write` scope; calls that make a webhook send something, and
 * changes other than disabling it, also require `events:read` and the read scopes of its types.
 */
export class Webhooks {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Creates a webhook, which sends new events of the given types to a URL. Only this call and `rotateSecret`
   * return the secret.
   */
  create(webhook: NewWebhook, options?: PostOptions): Call<IssuedWebhook> {
    return this.#call({ method: 'POST', body: webhook, options });
  }

  /** Lists webhooks in ascending order of id. */
  list(query: ListQuery = {}, options?: CallOptions): List<Webhook> {
    return new List(this.#send, 'webhooks', { ...query }, options);
  }

  /** Gets a webhook by id. */
  get(id: Int64, options?: CallOptions): Call<Webhook> {
    return this.#call({ method: 'GET', id, options });
  }

  /** Updates the given fields of a webhook. */
  update(id: Int64, patch: WebhookPatch, options?: ChangeOptions): Call<Webhook> {
    return this.#call({ method: 'PATCH', id, body: patch, options });
  }

  /** Deletes a webhook and its deliveries. */
  delete(id: Int64, options?: ChangeOptions): Call<void> {
    return this.#call({ method: 'DELETE', id, options });
  }

  /** Replaces the secret. For 24 hours, requests are signed with both the old and the new secret. */
  rotateSecret(id: Int64, options?: PostOptions & ChangeOptions): Call<IssuedWebhook> {
    return this.#call({ method: 'POST', id, step: 'rotate-secret', options });
  }

  /** Sends a `webhook.test` event immediately and returns the outcome. */
  test(id: Int64, options?: CallOptions): Call<WebhookTest> {
    return this.#call({ method: 'POST', id, step: 'test', options });
  }

  /** Resends all events after the given id whose types the webhook selects. */
  redeliverEvents(id: Int64, after: Redelivery, options?: PostOptions): Call<Webhook> {
    return this.#call({ method: 'POST', id, step: 'redeliver', body: after, options });
  }

  /** Resends the event of a delivery as a new delivery. A pending delivery is attempted immediately instead. */
  redeliver(id: Int64, deliveryId: Int64, options?: PostOptions): Call<Delivery> {
    const child = ['deliveries', 'deliveryId', deliveryId] as const;
    return this.#call({ method: 'POST', id, child, step: 'redeliver', options });
  }

  /** Lists the deliveries of a webhook, newest first. */
  deliveries(id: Int64, query: DeliveryQuery = {}, options?: CallOptions): List<Delivery> {
    return new List(this.#send, 'webhooks', { ...query }, options, { id, step: 'deliveries' });
  }

  #call<Data>(request: Omit<ApiRequest, 'collection'>): Call<Data> {
    return Call.of(this.#send<Data>({ ...request, collection: 'webhooks' }));
  }
}
