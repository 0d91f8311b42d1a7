import { basePath } from '../contract/operations.ts';
import { type Network, networkOf } from '../domain/address.ts';
import { clientAddress } from './address.ts';
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
}

const noParams = {};

type Server = Bun.Server<undefined>;
type BunRequest = Request & { readonly params?: Record<string, string> };

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
}: ServerOptions): Listener {
  const incomingOf = (request: BunRequest, server: Server, route?: Route): IncomingRequest => {
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
      network: () => networkOf(client()),
      startedAt: performance.now(),
    };
  };
  const handle = (route: Route | undefined) => (request: BunRequest, server: Server) => {
    const made = pipeline(context, incomingOf(request, server, route));
    const answer = underWay(server, request, made, idleTimeoutSeconds);
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
        const answer = elsewhere(incomingOf(request, server), path);
        return request.headers.has('transfer-encoding') ? afterChunkedBody(request, answer) : answer;
      },
      // What fails outside of every answer's own making; the runtime would send a page of its own.
      error: (error) => failed(context, context.makeRequestId(), error),
    });
  return new Listener({ serve, port, maxConnections, processes, log: context.log });
}
