/** One serving process: the store, the public listener and the counters. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { localUrl } from '../http/listener/host.ts';
import type { Listener } from '../http/listener/listener.ts';
import { OutageLog } from '../http/logs/outage-log.ts';
import type { RequestContext } from '../http/pipeline/context.ts';
import { createRequestIdGenerator } from '../http/pipeline/request-head.ts';
import { createApiRoutes } from '../http/pipeline/routes.ts';
import { startServer } from '../http/server.ts';
import { AdmissionOperations } from '../operations/admission/admission.ts';
import { ClientOperations } from '../operations/client-operations.ts';
import { EventFeed } from '../operations/events/feed.ts';
import { EventStreams } from '../operations/events/streams.ts';
import type { Store } from '../operations/units.ts';
import type { ServingWorker } from '../storage/storage.ts';
import { createSystemRuntime, type Runtime } from './runtime.ts';
import { ServiceWatch } from './service-watch.ts';
import { type AdminServices, openAdminServices } from './services.ts';
import { startSending } from './webhooks.ts';

/** The service in one process. Disposing the service drains and stops it. */
export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly admin: AdminServices;
  readonly feed: EventFeed;
  readonly outages: OutageLog;
  readonly watch: ServiceWatch;
}

export type BuildOpenApiDocument = (listening: string) => string;

/**
 * Maximum time to drain and finish pending requests. The store is closed afterwards; shutdown must take at most 10 s in
 * total.
 */
const stopTimeoutMs = 9_500;

/** PostgreSQL connections that the supervisor reserves for operators: one for reads and one for writes. */
export const supervisorPoolSize = 2;

/**
 * Returns the configuration of one process. PostgreSQL connections that the supervisor does not reserve are divided
 * among the workers.
 */
function processConfig(config: Config, worker: ServingWorker | undefined): Config {
  const all = config.cluster?.poolSize ?? 0;
  return withPoolSize(
    config,
    worker === undefined ? all : Math.floor((all - supervisorPoolSize) / worker.workers),
  );
}

/**
 * Returns the configuration with a different PostgreSQL pool size (at least 1). The configured size applies to all
 * workers combined.
 */
export function withPoolSize(config: Config, size: number): Config {
  const { cluster } = config;
  return { ...config, cluster: cluster && { ...cluster, poolSize: Math.max(1, size) } };
}

function listenerOptions({
  host: hostname,
  port,
  maxConnections,
  idleTimeoutSeconds,
  trustedProxies,
}: Config) {
  return { hostname, port, maxConnections, idleTimeoutSeconds, trustedProxies };
}

interface ContextDependencies extends Pick<RequestContext, 'operations' | 'log' | 'outages' | 'isDraining'> {
  readonly storage: Store;
  readonly randomBytes: Runtime['randomBytes'];
  readonly watch: ServiceWatch;
}

function createContext(
  { publicUrl, corsOrigins }: Config,
  { storage, randomBytes, watch, ...dependencies }: ContextDependencies,
): RequestContext {
  const { clock } = storage;
  return {
    ...dependencies,
    admission: new AdmissionOperations(storage.keys, storage.limits, clock, ({ message, fields }) =>
      dependencies.log.info(fields, message),
    ),
    pageCache: watch.pageCache,
    changedIds: storage.changedIds,
    clock,
    publicUrl,
    corsOrigins,
    traffic: watch.counter,
    failedRequests: watch.failedRequests,
    get requestLog() {
      return watch.logging.requestLog;
    },
    newRequestId: createRequestIdGenerator(randomBytes),
  };
}

/** The listener counts open streams as requests in flight; here they are counted separately. */
function watchServer(server: Listener, streams: EventStreams, { tail }: EventFeed) {
  const openStreams = () => streams.open;
  const eventListeners = () => tail.listeners;
  return { port: server.port, inFlight: () => server.inFlight - openStreams(), openStreams, eventListeners };
}

/**
 * Opens the store and serves requests in this process, which may be one of several workers. `prepare` is called before
 * the service listens. Throws the same errors as `startApp`.
 */
export async function startService(
  config: Config,
  openapi: BuildOpenApiDocument,
  log: Logger,
  runtime = createSystemRuntime(),
  worker?: ServingWorker & { readonly startedAt: number },
  prepare?: (admin: AdminServices) => Promise<void>,
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  const outages = started.use(new OutageLog(log));
  const how = { isServing: true, worker, notice: outages.notice };
  const admin = started.use(await openAdminServices(processConfig(config, worker), runtime, how));
  const { storage, webhooks, tasks } = admin;
  outages.watch(storage);
  const { randomBytes, output, recordEveryMs, sendEveryMs } = runtime;
  const { clock } = storage;
  const shared = { store: storage, clock, randomBytes, log };
  const watch = started.use(new ServiceWatch({ ...shared, config, output, worker, tasks, recordEveryMs }));
  await skipEventIds(storage, config.events.areRecorded);
  const events = started.use(new EventFeed(storage.events, clock, tasks.events.begin));
  const streams = started.use(new EventStreams(storage, events, clock));
  const operations = new ClientOperations({ store: storage, clock, events, streams, ...webhooks });
  await prepare?.(admin);
  let draining = false;
  const isDraining = () => draining;
  const server = startServer({
    context: createContext(config, { operations, storage, randomBytes, log, outages, watch, isDraining }),
    routes: createApiRoutes(config.publicUrl, { getPet: config.getPetSunset }),
    publicRoutes: {
      openapi: () => openapi(url()),
      publicUrl: config.publicUrl,
      address: () => config.publicUrl ?? url(),
      perMinute: config.publicRequestsPerMinute,
      health: () => storage.health(),
    },
    ...listenerOptions(config),
    processes: worker?.workers ?? 1,
    outgoing: webhooks.requestsInFlight,
    middleware: runtime.middleware,
  });
  const url = () => localUrl(server.hostname ?? config.host, server.port);
  const dependencies = {
    ...{ ...shared, webhooks, sendEveryMs },
    tail: events.tail,
    counter: watch.counter,
    begin: tasks.webhooks.begin,
  };
  const webhookSender = startSending(config, { ...dependencies, worker: worker?.number });
  started.defer(async () => {
    // `Connection: close` makes keep-alive clients reconnect elsewhere before the sockets close.
    draining = true;
    streams[Symbol.dispose]();
    events[Symbol.dispose]();
    await Promise.all([server.stop(config.drainSeconds * 1_000, stopTimeoutMs), webhookSender.stop()]);
  });
  watch.begin(watchServer(server, streams, events));
  const resources = started.move();
  return {
    url: url(),
    port: server.port,
    ...{ admin, feed: events, outages, watch },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Leaves a gap in the event ids, both when recording is turned off and when it is turned on again. Every reader that
 * reaches a gap starts over, including one that read the resources while recording was off.
 */
async function skipEventIds(store: Pick<Store, 'events' | 'write'>, areRecorded: boolean): Promise<void> {
  if (areRecorded && !(await hasTrailingGap(store.events))) return;
  while (!(await store.write('skipEvents', null)));
}

/** Whether the event with the highest id is missing, because ids were skipped or all events have expired. */
async function hasTrailingGap(events: Store['events']): Promise<boolean> {
  const { last } = await events.bounds();
  // The newest event is read after the bounds, because another process may be recording events.
  const [newest] = await events.newest(1);
  return last > (newest?.id ?? 0n);
}
