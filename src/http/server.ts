import { basePath } from '../contract/operations.ts';
import { type Network, networkOf } from '../domain/address.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import { clientAddress } from './address.ts';
import { BusyConnections } from './busy-connections.ts';
import { boundOfClients } from './connection-bounds.ts';
import { connectionOf, freeResponsesOf } from './free-budget.ts';
import { Listener } from './listener.ts';
import { pipeline } from './pipeline.ts';
import { type PublicRoutesOptions, publicRoutesOf } from './public-routes.ts';
import { pathOf } from './query.ts';
import { failed } from './replies.ts';
import type { IncomingRequest, RequestContext } from './request-context.ts';
import { requestIdOf } from './request-id.ts';
import type { Route } from './routes.ts';
import { underWay } from './under-way.ts';
import { afterChunkedBody } from './unread-body.ts';

export interface ServerOptions {
  readonly context: RequestContext;
  readonly routes: readonly Route[];
  readonly publicRoutes: PublicRoutesOptions;
  readonly hostname: string;
  readonly port: number;
  /** Open connections, at most; 0 for what the descriptors allow. */
  readonly maxConnections: number;
  /** A connection on which nothing moves is closed after this long. */
  readonly idleTimeoutSeconds: number;
  /** Processes that share the port and its connections; 1 keeps the port to this one. */
  readonly processes: number;
  readonly trustedProxies: readonly Network[];
  /** What stands between requests and their answers; unless given, nothing. */
  readonly around?: Around | undefined;
}

/** A request on its way to its answer, and what answers it. */
export interface Exchange {
  readonly context: RequestContext;
  readonly incoming: IncomingRequest;
  /** Closes the request's connection once nothing has moved on it for so many seconds; 0 for never. */
  readonly closeAfter: (idleSeconds: number) => void;
  readonly answer: () => Awaitable<Response>;
}

/** Stands between every request and its answer, on the service's own connections: see `src/sandbox/`. */
export type Around = (exchange: Exchange) => Awaitable<Response>;

const noParams = {};

type Server = Bun.Server<undefined>;
type BunRequest = Request & { readonly params?: Record<string, string> };

/** What the router found out about a request, for the pipeline. */
function incomingRequests(
  context: RequestContext,
  trustedProxies: readonly Network[],
  busy: BusyConnections,
): (request: BunRequest, server: Server, route?: Route) => IncomingRequest {
  const freeResponses = freeResponsesOf(context.clock);
  return (request, server, route) => {
    const client = () =>
      clientAddress(
        server.requestIP(request)?.address ?? '',
        request.headers.get('x-forwarded-for'),
        trustedProxies,
      );
    return {
      request,
      route,
      routed: route?.methods.get(request.method),
      path: request.params ?? noParams,
      requestId: requestIdOf(request, context.makeRequestId),
      client,
      countFree: () => freeResponses.take(connectionOf(request, server)) > 0,
      keep: () => busy.keep(request, server),
      network: () => networkOf(client()),
      startedAt: performance.now(),
    };
  };
}

/** Starts listening. The router only finds out where a request goes; the pipeline checks it. */
export function startServer({
  context,
  routes,
  publicRoutes,
  hostname,
  port,
  maxConnections,
  idleTimeoutSeconds,
  processes,
  trustedProxies,
  around,
}: ServerOptions): Listener {
  const busy = new BusyConnections();
  const incomingOf = incomingRequests(context, trustedProxies, busy);
  const exchangeOf = (
    incoming: IncomingRequest,
    server: Server,
    answer: () => Awaitable<Response>,
  ): Exchange => {
    const closeAfter = (idleSeconds: number) => server.timeout(incoming.request, idleSeconds);
    return { context, incoming, closeAfter, answer };
  };
  const handle = (route: Route | undefined) => (request: BunRequest, server: Server) => {
    const incoming = incomingOf(request, server, route);
    const made =
      around === undefined
        ? pipeline(context, incoming)
        : around(exchangeOf(incoming, server, () => pipeline(context, incoming)));
    const answer = busy.releaseAfter(request, underWay(server, request, made, idleTimeoutSeconds));
    return request.headers.has('transfer-encoding') ? afterChunkedBody(request, answer) : answer;
  };
  const unknown = handle(undefined);
  const elsewhere = publicRoutesOf(context, publicRoutes);

  const serve = (port: number) =>
    Bun.serve({
      hostname,
      port,
      // `development: false` would switch it on, and a second service would share the port in silence.
      reusePort: processes > 1,
      idleTimeout: idleTimeoutSeconds,
      // Bun would show stacks to clients otherwise, unless NODE_ENV is "production".
      development: false,
      // The pipeline bounds bodies itself, in its turn and with its own answer.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      routes: {
        ...Object.fromEntries(routes.map((route) => [route.path, handle(route)])),
        [basePath]: unknown,
        [`${basePath}/*`]: unknown,
      },
      fetch(request, server) {
        // The router matches the path as it was sent; `request.url` has its dot segments resolved (RFC 3986 section 5.2.4).
        const path = pathOf(request.url);
        if (path === basePath || path.startsWith(`${basePath}/`)) return unknown(request, server);
        const incoming = incomingOf(request, server);
        const answer =
          around === undefined
            ? elsewhere(incoming, path)
            : around(exchangeOf(incoming, server, () => elsewhere(incoming, path)));
        return request.headers.has('transfer-encoding') ? afterChunkedBody(request, answer) : answer;
      },
      // What fails outside of every answer's own making; the runtime would send a page of its own.
      error: (error) => failed(context, context.makeRequestId(), error),
    });
  const bound = () => boundOfClients(maxConnections, processes);
  return new Listener({ serve, port, bound, busy, log: context.log });
}
