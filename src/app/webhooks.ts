import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { eventJson } from '../contract/representations.ts';
import type { Clock } from '../domain/clock.ts';
import type { BeginRun } from '../domain/task-run.ts';
import { webhookRequestLimit } from '../http/listener/connection-limits.ts';
import type { EventTail } from '../operations/events/tail.ts';
import type { TrafficCounter } from '../operations/observability/traffic-counter.ts';
import type { Store } from '../operations/units.ts';
import type { Notify } from '../outages/outage.ts';
import { createSender, createTestSender, maxDelayMs, type Send } from '../webhooks/attempt.ts';
import { type DeliveryStore, Dispatcher, maxLeaseMs } from '../webhooks/dispatcher.ts';
import { createReceivers, ReceiverThread } from '../webhooks/receivers.ts';
import { decryptSecret, encryptSecret, reencryptSecret } from '../webhooks/secrets.ts';
import { generateWebhookSecret } from '../webhooks/signature.ts';
import type { Runtime } from './runtime.ts';
import { isEmbedded } from './store.ts';

export type WebhookServices = ReturnType<typeof createWebhookServices>;

/** Dependencies of webhook operations and deliveries, without the store. */
export function createWebhookServices(
  { webhooks: { allowedNetworks: allowed, secretsKeys: keys } }: Pick<Config, 'webhooks'>,
  { clock, randomBytes, aroundSend = (send) => send, ...runtime }: Runtime,
  notice?: Notify,
) {
  const { resolve } = runtime;
  const receivers =
    resolve === undefined ? new ReceiverThread(allowed) : createReceivers({ resolve, allowed, clock });
  const secrets = {
    generate: () => generateWebhookSecret(randomBytes),
    seal: (secret: string) => encryptSecret(secret, keys, randomBytes),
    open: (sealed: string) => decryptSecret(sealed, keys),
  };
  const sender = aroundSend(createSender(receivers, secrets.open));
  let requestsInFlight = 0;
  const send: Send = async (...request) => {
    requestsInFlight++;
    try {
      return await sender(...request);
    } finally {
      requestsInFlight--;
    }
  };
  return {
    checkEndpoint: async (url: string, accountId: number) => {
      const { mistake, privateAddress } = await receivers.check(url, accountId);
      if (privateAddress !== undefined) {
        const { host, address, reason } = privateAddress;
        notice?.(`rejected a webhook URL: ${host} resolves to ${address}, which is ${reason}`);
      }
      return mistake;
    },
    secrets,
    reencryptSecret: (stored: string) => reencryptSecret(stored, keys, randomBytes),
    send,
    /** Number of requests in flight, including tests. */
    requestsInFlight: () => requestsInFlight,
    [Symbol.dispose]: () => receivers[Symbol.dispose](),
    sendTest: createTestSender({ send, clock, randomBytes }),
  };
}

interface SendingDependencies extends Pick<Runtime, 'clock' | 'randomBytes'> {
  readonly sendEveryMs: number | undefined;
  readonly store: Store;
  readonly tail: EventTail;
  readonly webhooks: WebhookServices;
  readonly log: Logger;
  readonly counter: TrafficCounter;
  /** The number of this worker; undefined if the instance has only one process. */
  readonly worker: number | undefined;
  readonly begin: BeginRun;
}

/**
 * Sends the events of a store to webhooks. With an embedded store, only the first process sends; with PostgreSQL, all
 * processes do.
 */
export function startSending(config: Config, dependencies: SendingDependencies): Pick<Dispatcher, 'stop'> {
  const { areSent, perSecond } = config.webhooks;
  const { clock, log, store, worker = 1, webhooks, counter } = dependencies;
  if (!areSent || (isEmbedded(config.databaseUrl) && worker !== 1)) return { stop: async () => undefined };
  return new Dispatcher({
    store: createDeliveryStore(store, clock, isEmbedded(config.databaseUrl)),
    send: webhooks.send,
    clock,
    places: webhookRequestLimit(),
    perSecond,
    random: () => Buffer.from(dependencies.randomBytes(4)).readUInt32BE() / 2 ** 32,
    follow: createFollower(store, dependencies.tail),
    count: (outcome, attempts) => {
      counter.deliveries[outcome] += attempts;
    },
    notice: (message, fields) => log.warn(fields, message),
    begin: dependencies.begin,
    pollEveryMs: dependencies.sendEveryMs,
  });
}

function createDeliveryStore(store: Store, clock: Clock, isAlone: boolean): DeliveryStore {
  return {
    hasWebhooks: async () => (await store.webhooks.list(undefined, 1)).length > 0,
    prepare: async () => {
      while (await store.write('addPaces', null));
      while (isAlone && (await store.write('releaseDeliveries', clock.now())));
      const now = clock.now();
      const latest = { latestLease: now + maxLeaseMs, latestRetry: now + maxDelayMs };
      for (let after: bigint | undefined = 0n; after !== undefined; )
        after = await store.write('rescheduleDeliveries', { after, now, ...latest });
    },
    dispatch: (settled, lease) => store.write('dispatchDeliveries', { settled, lease }),
    bodies: async (eventIds) => {
      const found = await store.events.findMany(eventIds);
      return new Map(found.map((event) => [event.id, eventJson(event)]));
    },
    disable: ({ id, webhookId, leasedUntil, url }, { reason, since }) =>
      store.write('disableWebhook', {
        ...{ delivery: { id, webhookId, leasedUntil, url }, reason, since },
        now: clock.now(),
      }),
  };
}

/** Subscribes to the events of all processes on the first call. */
function createFollower({ events }: Store, tail: EventTail): (wake: () => void) => Promise<void> {
  let isListening = false;
  return async (wake) => {
    if (isListening) return;
    const { last } = await events.bounds();
    const end = () => {
      isListening = false;
    };
    isListening = tail.listen(last, { until: Number.POSITIVE_INFINITY, isOwn: true, receive: wake, end });
  };
}
