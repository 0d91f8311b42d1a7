import type { StreamSource } from '../contract/operation.ts';
import { basePath } from '../contract/operations.ts';
import { type Network, toNetwork } from '../domain/address.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import { BusyConnections } from './listener/busy-connections.ts';
import { clientConnectionLimit } from './listener/connection-limits.ts';
import { Listener } from './listener/listener.ts';
import { StreamBody } from './listener/streamed-body.ts';
import { UnmeteredResponses } from './listener/unmetered-responses.ts';
import { UnreadBodies } from './listener/unread-body.ts';
import type { IncomingRequest, RequestContext } from './pipeline/context.ts';
import { handleRequest } from './pipeline/pipeline.ts';
import { fallbackReply } from './pipeline/reply.ts';
import { chooseRequestId, clientAddress } from './pipeline/request-head.ts';
import type { Route, RoutedOperation } from './pipeline/routes.ts';
import { createPublicRoutes, type PublicRoutesOptions } from './public/public-routes.ts';

type Server = Bun.Server<undefined>;
type BunRequest = Request & { readonly params?: Record<string, string> };

/** Shared by all requests of a listener. */
interface ListenerContext {
  readonly newRequestId: () => string;
  readonly trustedProxies: readonly Network[];
  readonly unmeteredResponses: UnmeteredResponses;
  readonly busy: BusyConnections;
}

const noParams = {};

/** This is a class because an object literal would create new functions for each request. */
class Incoming implements IncomingRequest {
  readonly request: BunRequest;
  readonly route: Route | undefined;
  readonly routed: RoutedOperation | undefined;
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly startedAt = performance.now();
  readonly #server: Server;
  readonly #listener: ListenerContext;
  #isUnmetered = false;

  constructor(request: BunRequest, server: Server, listener: ListenerContext, route?: Route) {
    this.request = request;
    this.route = route;
    this.routed = route?.methods.get(request.method);
    this.path = request.params ?? noParams;
    this.requestId = chooseRequestId(request, listener.newRequestId);
    this.#server = server;
    this.#listener = listener;
  }

  client(): string {
    const peer = this.#server.requestIP(this.request)?.address ?? '';
    const forwardedFor = this.request.headers.get('x-forwarded-for');
    return clientAddress(peer, forwardedFor, this.#listener.trustedProxies);
  }

  network(): string {
    return toNetwork(this.client());
  }

  countUnmetered(): boolean {
    this.#isUnmetered = true;
    return this.#listener.unmeteredResponses.isLast(this.request, this.#server);
  }

  isUnmetered(): boolean {
    return this.#isUnmetered;
  }

  keep(): void {
    this.#listener.busy.keep(this.request, this.#server);
  }

  streamed(source: StreamSource): ReadableStream {
    return new ReadableStream(new StreamBody(source, this.request, this.#server, this.#listener.busy));
  }
}

interface ServerOptions {
  readonly context: RequestContext;
  readonly routes: readonly Route[];
  readonly publicRoutes: PublicRoutesOptions;
  readonly hostname: string;
  readonly port: number;
  /** Maximum number of open connections; 0 derives the maximum from the descriptor limit. */
  readonly maxConnections: number;
  readonly idleTimeoutSeconds: number;
  /** Number of processes that share the port; 1 if the port is not shared. */
  readonly processes: number;
  /** Number of outgoing requests, whose connections do not count as connections of clients. */
  readonly outgoing: () => number;
  readonly trustedProxies: readonly Network[];
  readonly middleware?: Middleware | undefined;
}

export interface Exchange {
  readonly context: RequestContext;
  readonly incoming: IncomingRequest;
  /** Sets the idle timeout of the request's connection, in seconds; 0 disables the timeout. */
  readonly closeAfter: (idleSeconds: number) => void;
  /** Closes all connections and refuses new ones for `ms` milliseconds. */
  readonly refuseConnections: (ms: number) => void;
  readonly respond: () => Awaitable<Response>;
}

/** Wraps the handling of every request; used by the sandbox to inject faults. */
export type Middleware = (exchange: Exchange) => Awaitable<Response>;

/** Starts listening. The router only selects the route; the pipeline checks the request. */
export function startServer(options: ServerOptions): Listener {
  const { context, routes, publicRoutes, hostname, port, idleTimeoutSeconds, processes, middleware } =
    options;
  const busy = new BusyConnections();
  const { newRequestId } = context;
  const unmeteredResponses = new UnmeteredResponses(context.clock);
  const unreadBodies = new UnreadBodies(context.clock, () => listener.onUnreadBody());
  const listenerContext = { newRequestId, trustedProxies: options.trustedProxies, unmeteredResponses, busy };
  const exchanged = (incoming: Incoming, server: Server, respond: () => Awaitable<Response>) => {
    listener.onRequest(incoming.startedAt);
    if (middleware === undefined) return respond();
    const closeAfter = (idleSeconds: number) => server.timeout(incoming.request, idleSeconds);
    const refuseConnections = (ms: number) => listener.refuse(ms);
    return middleware({ context, incoming, closeAfter, refuseConnections, respond });
  };
  const handle = (route: Route | undefined) => (request: BunRequest, server: Server) => {
    const incoming = new Incoming(request, server, listenerContext, route);
    const made = exchanged(incoming, server, () => handleRequest(context, incoming));
    const response =
      made instanceof Promise ? busy.keepOpenUntilResponse(request, server, made, idleTimeoutSeconds) : made;
    return unreadBodies.closeAfterChunked(incoming, response);
  };
  const unknown = handle(undefined);
  const elsewhere = createPublicRoutes(context, publicRoutes);
  const handleElsewhere = (path?: string) => (request: BunRequest, server: Server) => {
    const incoming = new Incoming(request, server, listenerContext);
    const response = exchanged(incoming, server, () => elsewhere.respond(incoming, path));
    return unreadBodies.closeAfterChunked(incoming, response);
  };

  const serve = (port: number) =>
    Bun.serve({
      hostname,
      port,
      // With `development: false`, `reusePort` defaults to true, and a second service could share the port without an
      // error.
      reusePort: processes > 1,
      idleTimeout: idleTimeoutSeconds,
      // Without this setting, Bun sends stack traces to clients unless NODE_ENV is "production".
      development: false,
      // The pipeline limits the body size itself, in order to return a specific error.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      routes: {
        ...Object.fromEntries(elsewhere.paths.map((path) => [path, handleElsewhere(path)])),
        ...Object.fromEntries(routes.map((route) => [route.path, handle(route)])),
        [basePath]: unknown,
        [`${basePath}/*`]: unknown,
      },
      fetch: handleElsewhere(),
      // Handles errors outside the pipeline. By default, the runtime would respond with an HTML page.
      error: (error) => fallbackReply(context, newRequestId(), error),
    });
  const bound = () => clientConnectionLimit(options.maxConnections, processes, options.outgoing);
  const listener = new Listener({ serve, port, bound, busy, log: context.log });
  return listener;
}
