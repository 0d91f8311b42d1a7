import { basePath } from '../contract/operations.ts';
import { type Network, networkOf } from '../domain/address.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import { BusyConnections, underWay } from './listener/busy-connections.ts';
import { boundOfClients } from './listener/connection-bounds.ts';
import { connectionOf, freeResponsesOf } from './listener/free-budget.ts';
import { Listener } from './listener/listener.ts';
import { streamOf } from './listener/stream.ts';
import { afterChunkedBody } from './listener/unread-body.ts';
import type { IncomingRequest, RequestContext } from './pipeline/context.ts';
import { clientAddress, requestIdOf } from './pipeline/head.ts';
import { pipeline } from './pipeline/pipeline.ts';
import { pathOf } from './pipeline/query.ts';
import { failed } from './pipeline/replies.ts';
import type { Route } from './pipeline/routes.ts';
import { type PublicRoutesOptions, publicRoutesOf } from './public/public-routes.ts';

interface ServerOptions {
  readonly context: RequestContext;
  readonly routes: readonly Route[];
  readonly publicRoutes: PublicRoutesOptions;
  readonly hostname: string;
  readonly port: number;
  /** Open connections, at most; 0 for what the descriptors allow. */
  readonly maxConnections: number;
  readonly idleTimeoutSeconds: number;
  /** Processes that share the port and its connections; 1 keeps the port to this one. */
  readonly processes: number;
  readonly trustedProxies: readonly Network[];
  readonly around?: Around | undefined;
}

export interface Exchange {
  readonly context: RequestContext;
  readonly incoming: IncomingRequest;
  /** Closes the request's connection after this many idle seconds; 0 for never. */
  readonly closeAfter: (idleSeconds: number) => void;
  readonly answer: () => Awaitable<Response>;
}

/** Stands between every request and its answer, on the service's own connections: see `src/sandbox/`. */
export type Around = (exchange: Exchange) => Awaitable<Response>;

const noParams = {};

type Server = Bun.Server<undefined>;
type BunRequest = Request & { readonly params?: Record<string, string> };

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
      streamed: (source) => streamOf(source, request, server, busy),
      network: () => networkOf(client()),
      startedAt: performance.now(),
    };
  };
}

/** Starts listening. The router only finds out where a request goes; the pipeline checks it. */
export function startServer(options: ServerOptions): Listener {
  const { context, routes, publicRoutes, hostname, port, idleTimeoutSeconds, processes, around } = options;
  const busy = new BusyConnections();
  const incomingOf = incomingRequests(context, options.trustedProxies, busy);
  const answered = (incoming: IncomingRequest, server: Server, answer: () => Awaitable<Response>) => {
    if (around === undefined) return answer();
    const closeAfter = (idleSeconds: number) => server.timeout(incoming.request, idleSeconds);
    return around({ context, incoming, closeAfter, answer });
  };
  const handle = (route: Route | undefined) => (request: BunRequest, server: Server) => {
    const incoming = incomingOf(request, server, route);
    const made = answered(incoming, server, () => pipeline(context, incoming));
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
        const answer = answered(incoming, server, () => elsewhere(incoming, path));
        return request.headers.has('transfer-encoding') ? afterChunkedBody(request, answer) : answer;
      },
      // Errors outside of the pipeline; the runtime would send a page about them.
      error: (error) => failed(context, context.makeRequestId(), error),
    });
  const bound = () => boundOfClients(options.maxConnections, processes);
  return new Listener({ serve, port, bound, busy, log: context.log });
}
