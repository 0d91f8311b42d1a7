import { ApiError } from '../../contract/api-error.ts';
import { authenticateDuringOutage } from './authentication.ts';
import type { Console } from './console.ts';
import type { AdminContext, AdminIncoming } from './context.ts';
import { formatMetrics, metricsContentType } from './metrics.ts';
import { type AdminPlainResponse, reply, replyWithError } from './reply.ts';

const openapiPath = '/admin/v1/openapi.json';

/** Paths of pages, besides the files below `assetsPath`. */
export const pagePaths = ['/', openapiPath, '/metrics'] as const;
export const assetsPath = '/assets/';

const unknownPathMessage =
  'Unknown path. The console is at /, and its API is described at /admin/v1/openapi.json.';

/** Serves a page. The path is undefined if it is unknown. */
export async function servePage(
  context: AdminContext,
  console: Console,
  incoming: AdminIncoming,
  path: string | undefined,
): Promise<Response> {
  try {
    context.site.checkHost(incoming.request);
    return reply(incoming, await pageResponse(context, console, incoming, path));
  } catch (error) {
    return replyWithError(context, incoming, error);
  }
}

async function pageResponse(
  context: AdminContext,
  console: Console,
  incoming: AdminIncoming,
  path: string | undefined,
): Promise<AdminPlainResponse> {
  const { request } = incoming;
  if (path !== undefined && request.method !== 'GET' && request.method !== 'HEAD')
    throw new ApiError('method_not_allowed');
  if (path === openapiPath) return { status: 200, body: await adminOpenapi(), headers: {} };
  if (path === '/metrics') return metrics(context, incoming);
  const file = path === undefined ? undefined : await console.respond(request, path);
  if (file === undefined) throw new ApiError('route_not_found', { message: unknownPathMessage });
  return file;
}

/** Metrics reveal each client's usage, so operators must sign in. */
async function metrics(context: AdminContext, incoming: AdminIncoming): Promise<AdminPlainResponse> {
  const operator = await authenticateDuringOutage(context, incoming);
  const { system } = context.services;
  const found = await context.readLimits.run(`${operator} metrics`, incoming.request, () => system.metrics());
  return { status: 200, body: formatMetrics(found), headers: { 'Content-Type': metricsContentType } };
}

let openapi: Promise<Blob> | undefined;

/**
 * The OpenAPI document of the admin API. The server URL is relative to the URL of the document. Converted to text once,
 * because that takes milliseconds and the request needs no token.
 */
function adminOpenapi(): Promise<Blob> {
  openapi ??= import('../../../contract/admin-openapi.json', { with: { type: 'json' } })
    .then(({ default: document }) => new Blob([JSON.stringify(document)]))
    .catch((error) => {
      openapi = undefined;
      throw error;
    });
  return openapi;
}
