import { ApiError } from '../../contract/api-error.ts';
import { errors } from '../../contract/errors.ts';
import { basePath } from '../../contract/operations.ts';
import type { Trouble } from '../../domain/troubles.ts';
import { ClientRateLimiter } from '../listener/unmetered-responses.ts';
import type { IncomingRequest, RequestContext } from '../pipeline/context.ts';
import { corsHeaders } from '../pipeline/cors.ts';
import { errorBody, fallbackReply, unavailableRetrySeconds } from '../pipeline/reply.ts';
import { hasMultipleHosts, multipleHostsError } from '../pipeline/request-head.ts';
import { errorPageHeaders, type HeaderFields, setMethodHeaders } from '../pipeline/response-headers.ts';
import { clientPackageRoutes, currentClientPath } from './client-packages.ts';
import { createGuides, type Guides } from './guides.ts';
import { PageLimiter } from './page-limiter.ts';
import { serveReference, serveReferenceScript } from './reference.ts';

/** Routes outside /v1, which need no credential. */
export interface PublicRoutesOptions {
  /**
   * Returns the OpenAPI document as text. Called only once the service is listening, because the document contains its
   * URL.
   */
  readonly openapi: () => string;
  readonly publicUrl: string | undefined;
  /** Returns the public URL, or else the address that the service listens on. Called once it is listening. */
  readonly address: () => string;
  /**
   * Maximum number of responses per minute and client network, except for health checks; large responses count several
   * times. Additional requests are refused with 429.
   */
  readonly perMinute: number;
  /** Returns the known failures without checking the store. Throws `service_unavailable` if no request can succeed. */
  readonly health: () => readonly Trouble[];
}

type Page = (request: Request) => Response | Promise<Response>;

/** Paths of load balancer health checks, which are never refused, but are delayed for a client that sends too many. */
const probes = new Set(['/livez', '/readyz']);
/** Shorter than the timeouts of typical load balancers. */
const probeDelayMs = 100;
const rejectionDelayMs = 1_000;

const unavailable = errors.service_unavailable.status;
const retrySoon = { 'Retry-After': String(unavailableRetrySeconds) };

export interface PublicRoutes {
  readonly paths: readonly string[];
  /**
   * Responds to a request outside /v1, whose path is undefined unless it is one of `paths`. Never reads the URL of a
   * request that is refused or has an unknown path: the runtime would first have to parse it, which for 15,000 bytes that
   * are not ASCII takes 30 times as long as the rest of the request.
   */
  readonly respond: (incoming: IncomingRequest, path: string | undefined) => Promise<Response>;
}

export function createPublicRoutes(context: RequestContext, options: PublicRoutesOptions): PublicRoutes {
  const pageLimiter = new PageLimiter(options.perMinute, context.clock);
  const probeLimiter = new ClientRateLimiter(options.perMinute, context.clock);
  const root = options.publicUrl ?? '';
  const guides = createGuides({ ...options, root });
  const pages = new Map<string, Page>([
    ...guides.routes,
    ['/', () => redirect(302, `${root}/docs`)],
    // In version 1.1.0, this was a separate page.
    ['/docs/guides/webhook-receivers', () => redirect(301, `${root}/docs/guides/webhooks#receiving`)],
    ...clientPackageRoutes(),
    ['/client.tgz', () => redirect(302, `${root}${currentClientPath}`)],
    ['/docs', serveReference(options.openapi)],
    ['/docs/scalar.js', serveReferenceScript()],
    ['/openapi.json', openapiPage(context, options)],
    ['/livez', () => json(200, '{"status":"ok"}')],
    ['/readyz', () => readiness(context, options)],
    ['/.well-known/api-catalog', () => apiCatalog(root)],
  ]);
  const respond: PublicRoutes['respond'] = async (incoming, path) => {
    const { request, requestId } = incoming;
    const page = path === undefined ? undefined : pages.get(path);
    const isProbe = path !== undefined && probes.has(path);
    let response = await pageResponse(context, incoming, page, guides);
    const network = incoming.network();
    const waitSeconds = isProbe
      ? probeLimiter.take(network)
      : await pageLimiter.take(network, response.ok && request.method === 'GET' ? path : undefined, response);
    // A client over its limit is delayed, so that immediate retries gain nothing. During a delay, the runtime would parse
    // all that is sent of a chunked body.
    const [limiter, delayMs] = isProbe ? [probeLimiter, probeDelayMs] : [pageLimiter, rejectionDelayMs];
    const isChunked = request.headers.get('transfer-encoding') !== null;
    const isInTime = waitSeconds === 0 || (!isChunked && (await limiter.delay(delayMs)));
    if (waitSeconds > 0 && !isProbe) response = tooManyRequests(waitSeconds);
    response.headers.set('X-Request-Id', requestId);
    if (incoming.countUnmetered() || !isInTime) response.headers.set('Connection', 'close');
    setMethodHeaders(response, request.method);
    context.requestLog?.(incoming, { status: response.status, page: path });
    return response;
  };
  return { paths: [...pages.keys()], respond };
}

const tooManyMessage =
  'Too many unauthenticated requests from this address. Retry after the number of seconds in the Retry-After header.';

function tooManyRequests(waitSeconds: number): Response {
  const error = new ApiError('rate_limit_exceeded', { message: tooManyMessage });
  return errorResponse(error, { 'Retry-After': String(waitSeconds) });
}

async function pageResponse(
  context: RequestContext,
  { request, requestId }: IncomingRequest,
  page: Page | undefined,
  guides: Guides,
): Promise<Response> {
  if (hasMultipleHosts(request)) return errorResponse(multipleHostsError());
  if (page === undefined) {
    return wantsHtml(request) ? guides.notFound() : errorResponse(new ApiError('route_not_found'));
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return errorResponse(new ApiError('method_not_allowed'), { Allow: 'GET, HEAD' });
  }
  try {
    return await page(request);
  } catch (error) {
    return fallbackReply(context, requestId, error);
  }
}

function readiness(context: RequestContext, { health }: PublicRoutesOptions): Response {
  if (context.isDraining())
    return json(unavailable, '{"status":"stopping"}', { ...retrySoon, Connection: 'close' });
  try {
    const trouble = health();
    return json(
      200,
      JSON.stringify(trouble.length === 0 ? { status: 'ready' } : { status: 'degraded', trouble }),
    );
  } catch (error) {
    if (!(error instanceof ApiError) || !(error.cause instanceof Error)) throw error;
    const body = { status: 'unavailable', trouble: [error.cause.message] };
    return json(unavailable, JSON.stringify(body), retrySoon);
  }
}

/** Serves the OpenAPI document. Pages from configured CORS origins may read it. */
function openapiPage(context: RequestContext, { openapi }: PublicRoutesOptions): Page {
  let body: Blob | undefined;
  return ({ headers }) => {
    body ??= new Blob([openapi()]);
    const cors = context.corsOrigins.size > 0 ? corsHeaders(headers, context.corsOrigins) : {};
    return json(200, body, { ...revalidate, ...cors });
  };
}

/** Browsers list HTML first in `Accept`. Other clients get JSON. */
function wantsHtml({ headers }: Request): boolean {
  return /^\s*text\/html\b/i.test(headers.get('accept') ?? '');
}

/** The API catalog (RFC 9727), a linkset (RFC 9264). */
function apiCatalog(publicUrl: string): Response {
  const linkset = [
    {
      anchor: `${publicUrl}${basePath}`,
      'service-desc': [{ href: `${publicUrl}/openapi.json`, type: 'application/json' }],
      'service-doc': [{ href: `${publicUrl}/docs`, type: 'text/html' }],
      status: [{ href: `${publicUrl}/readyz`, type: 'application/json' }],
    },
  ];
  const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
  // RFC 9727 section 2 requires the link in responses to HEAD, because clients check for a catalog with HEAD.
  const link = `<${publicUrl}/.well-known/api-catalog>; rel="api-catalog"`;
  return json(200, JSON.stringify({ linkset }), { ...revalidate, 'Content-Type': type, Link: link });
}

function errorResponse(apiError: ApiError, headers: HeaderFields = {}): Response {
  return json(errors[apiError.code].status, errorBody(apiError), headers);
}

/**
 * Documents change only with the service's version and settings, so clients may cache and revalidate them. Status and
 * error responses are not cached.
 */
const revalidate = { 'Cache-Control': 'no-cache' } as const;

function json(status: number, body: string | Blob, headers: HeaderFields = {}): Response {
  return new Response(body, { status, headers: { ...errorPageHeaders, ...headers } });
}

function redirect(status: number, location: string): Response {
  return new Response(null, { status, headers: { Location: location } });
}
