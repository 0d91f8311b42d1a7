/** What the admin listener serves beside its operations. */
import { Refusal } from '../../domain/refusal.ts';
import { authenticateInOutages } from './authentication.ts';
import type { Console } from './console.ts';
import type { AdminContext, AdminIncoming } from './context.ts';
import { type AdminAnswer, refuse, reply } from './replies.ts';

export interface AdminPages {
  readonly console: Console;
  /** The admin API's OpenAPI document, as text. */
  readonly openapi: () => Promise<string>;
}

export const openapiPath = '/admin/v1/openapi.json';

const unknownPath = 'Unknown path. The console is at /, and its API is described at /admin/v1/openapi.json.';

/** Answers a request that is for no operation. */
export async function adminPage(
  context: AdminContext,
  pages: AdminPages,
  incoming: AdminIncoming,
  path: string,
): Promise<Response> {
  try {
    context.site.checkHost(incoming.request);
    return reply(incoming, await answerOf(context, pages, incoming, path));
  } catch (error) {
    return refuse(context, incoming, error);
  }
}

async function answerOf(
  context: AdminContext,
  { console, openapi }: AdminPages,
  incoming: AdminIncoming,
  path: string,
): Promise<AdminAnswer> {
  const { request } = incoming;
  const isKnown = path === '/' || path.startsWith('/assets/') || path === openapiPath || path === '/metrics';
  if (isKnown && request.method !== 'GET' && request.method !== 'HEAD')
    throw new Refusal('method_not_allowed');
  if (path === openapiPath) return { status: 200, body: await openapi(), headers: {} };
  if (path === '/metrics') return metrics(context, incoming);
  const file = isKnown ? await console.answer(request, path) : undefined;
  if (file === undefined) throw new Refusal('route_not_found', { message: unknownPath });
  return file;
}

/** What is measured tells who is served how much: only to those who may sign in. */
async function metrics(context: AdminContext, incoming: AdminIncoming): Promise<AdminAnswer> {
  await authenticateInOutages(context, incoming);
  const { type, body } = await context.metrics();
  return { status: 200, body, headers: { 'Content-Type': type } };
}
