import { randomBytes } from 'node:crypto';
import pino, { type Logger } from 'pino';
import { createWebhookServices } from '../../src/app/webhooks.ts';
import { OutageLog } from '../../src/http/logs/outage-log.ts';
import type { IncomingRequest, RequestContext } from '../../src/http/pipeline/context.ts';
import { PageCache } from '../../src/http/pipeline/page-cache.ts';
import { createApiRoutes } from '../../src/http/pipeline/routes.ts';
import { startServer } from '../../src/http/server.ts';
import { AdmissionOperations } from '../../src/operations/admission/admission.ts';
import { ClientOperations } from '../../src/operations/client-operations.ts';
import { EventFeed } from '../../src/operations/events/feed.ts';
import { EventStreams } from '../../src/operations/events/streams.ts';
import { FailedRequests } from '../../src/operations/observability/failed-requests.ts';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import { publicly, type TestApp } from './app.ts';

/** The client operations' dependencies, which use a running app's store. */
export function clientDependencies({ app, clock, config }: Pick<TestApp, 'app' | 'clock' | 'config'>) {
  const { storage: store } = app.admin;
  const events = new EventFeed(store.events, clock);
  const streams = new EventStreams(store, events, clock);
  return {
    store,
    events,
    streams,
    clock,
    ...createWebhookServices(config, { clock, randomBytes, resolve: publicly }),
  };
}

/** The pipeline's dependencies, which use a running app's store. */
export function requestContextOf(
  { app, clock, config }: TestApp,
  log: Logger = pino({ level: 'silent' }),
): RequestContext {
  const { storage } = app.admin;
  return {
    admission: new AdmissionOperations(storage.keys, storage.limits, clock),
    operations: new ClientOperations(clientDependencies({ app, clock, config })),
    pageCache: new PageCache(),
    changedIds: undefined,
    clock,
    publicUrl: undefined,
    corsOrigins: new Set(),
    log,
    outages: new OutageLog(log),
    failedRequests: new FailedRequests(clock),
    traffic: new TrafficCounter(clock),
    requestLog: undefined,
    newRequestId: () => 'made',
    isDraining: () => false,
  };
}

const routes = createApiRoutes(undefined, {});

/** A GET request, as the HTTP server passes it to the pipeline. */
export function incomingOf(url: string, headers: Readonly<Record<string, string>>): IncomingRequest {
  const { pathname } = new URL(url);
  const route = routes.find(({ path }) => path === pathname);
  return {
    request: new Request(url, { headers }),
    route,
    routed: route?.methods.get('GET'),
    path: {},
    requestId: headers['X-Request-Id'] ?? 'made',
    client: () => '192.0.2.1',
    countUnmetered: () => false,
    keep: () => undefined,
    streamed: () => new ReadableStream(),
    network: () => '192.0.2.1',
    startedAt: 0,
  };
}

/** Starts an HTTP server with this context on a separate port. */
export function serve(context: RequestContext): { readonly url: string } & AsyncDisposable {
  const publicRoutes = {
    openapi: () => '{"servers":[]}',
    publicUrl: undefined,
    address: () => '',
    perMinute: 1_000,
    health: () => [],
  };
  const server = startServer({
    ...{
      context,
      routes,
      publicRoutes,
      hostname: '127.0.0.1',
      port: 0,
      idleTimeoutSeconds: 75,
      maxConnections: 0,
      outgoing: () => 0,
      processes: 1,
    },
    trustedProxies: [],
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.dispose](),
  };
}
