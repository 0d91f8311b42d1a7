import { adminBasePath, allAdminOperations } from '../../contract/admin/operations.ts';
import { type Network, toNetwork } from '../../domain/address.ts';
import { BusyConnections } from '../listener/busy-connections.ts';
import { adminConnectionLimit } from '../listener/connection-limits.ts';
import { Listener } from '../listener/listener.ts';
import { chooseRequestId, clientAddress } from '../pipeline/request-head.ts';
import { createRoutes, type Route } from '../pipeline/routes.ts';
import type { Console } from './console.ts';
import type { AdminContext, AdminIncoming, AdminOperation } from './context.ts';
import { assetsPath, pagePaths, servePage } from './pages.ts';
import { handleAdminRequest } from './pipeline.ts';
import { fallbackReply } from './reply.ts';

/** Idle connections are closed after this time, unless an operation is in progress. */
const idleTimeoutSeconds = 20;
const stopWithinMs = 200;

interface AdminServerOptions {
  readonly context: AdminContext;
  readonly console: Console;
  readonly hostname: string;
  readonly port: number;
  readonly trustedProxies: readonly Network[];
}

type Server = Bun.Server<undefined>;
type BunRequest = Request & { readonly params?: Record<string, string> };
type AdminRoute = Route<AdminOperation>;

export interface AdminServer extends AsyncDisposable {
  readonly hostname: string | undefined;
  readonly port: number;
}

const noParams = {};
const firstErrorStatus = 400;

/** Starts listening. Throws an error with the system's `code` if the port is not available. */
export function startAdminServer(options: AdminServerOptions): AdminServer {
  const { context, console, hostname, port, trustedProxies } = options;
  const busy = new BusyConnections();
  const incomingOf = (request: BunRequest, server: Server, route?: AdminRoute): AdminIncoming => {
    listener.onRequest(performance.now());
    const peer = server.requestIP(request)?.address ?? '';
    const client = clientAddress(peer, request.headers.get('x-forwarded-for'), trustedProxies);
    return {
      request,
      route,
      operation: route?.methods.get(request.method),
      path: request.params ?? noParams,
      requestId: chooseRequestId(request, context.newRequestId),
      client,
      network: toNetwork(client),
      mayTakeLong: (isAllowed) => {
        server.timeout(request, isAllowed ? 0 : idleTimeoutSeconds);
        if (isAllowed) busy.keep(request, server);
        else busy.release(request);
      },
    };
  };
  const handle = (route: AdminRoute | undefined) => (request: BunRequest, server: Server) => {
    const incoming = incomingOf(request, server, route);
    const pending = handleAdminRequest(context, incoming);
    return finish(context, incoming, server, pending, ({ status }) => status >= firstErrorStatus);
  };
  // `request.url` is not read, because requests without a token could make the runtime parse long URLs.
  const page = (path?: string) => (request: BunRequest, server: Server) => {
    const incoming = incomingOf(request, server);
    return finish(context, incoming, server, servePage(context, console, incoming, path), () => true);
  };
  const serve = (port: number) =>
    Bun.serve({
      hostname,
      port,
      // With `development: false`, `reusePort` defaults to true, and a second service could share the port without an
      // error.
      reusePort: false,
      idleTimeout: idleTimeoutSeconds,
      // Without this setting, Bun sends stack traces to clients unless NODE_ENV is "production".
      development: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      routes: createRouteTable(handle, page),
      fetch: page(),
      // Handles errors outside both pipelines. By default, the runtime would respond with an HTML page.
      error: (error) => fallbackReply(context, error),
    });
  const listener = new Listener({ serve, port, bound: adminConnectionLimit, busy, log: context.log });
  return {
    hostname: listener.hostname,
    port: listener.port,
    [Symbol.asyncDispose]: () => listener.finish(stopWithinMs),
  };
}

type Handler = (request: BunRequest, server: Server) => Promise<Response>;

function createRouteTable(
  handle: (route: AdminRoute | undefined) => Handler,
  page: (path: string) => Handler,
): Record<string, Handler> {
  const routes = createRoutes(adminBasePath, allAdminOperations, (operation) => operation);
  const unknown = handle(undefined);
  return {
    ...Object.fromEntries(pagePaths.map((path) => [path, page(path)])),
    [`${assetsPath}:name`]: (request, server) =>
      page(`${assetsPath}${request.params?.name}`)(request, server),
    ...Object.fromEntries(routes.map((route) => [route.path, handle(route)])),
    [adminBasePath]: unknown,
    [`${adminBasePath}/*`]: unknown,
  };
}

/** Closes the connection after a chunked request, or after too many errors and console files on the connection. */
async function finish(
  { unmeteredResponses, unreadBodies }: AdminContext,
  { request, network }: AdminIncoming,
  server: Server,
  pending: Promise<Response>,
  isUnmetered: (response: Response) => boolean,
): Promise<Response> {
  if (request.headers.has('transfer-encoding'))
    return unreadBodies.closeAfterChunked({ request, network: () => network, isUnmetered }, pending);
  const response = await pending;
  if (isUnmetered(response) && unmeteredResponses.isLast(request, server))
    response.headers.set('Connection', 'close');
  return response;
}
