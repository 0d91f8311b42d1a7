/** Converts responses to data or errors. */
import type { Reply } from './attempt.js';
import { type ErrorDetail, goneCodes } from './contract.js';
import { createError } from './create-error.js';
import { ConnectionError, type Problem, ServerError } from './errors.js';
import { parseJson } from './json.js';
import { retryAfterMs } from './limits.js';
import type { ApiRequest } from './request.js';

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly details?: unknown;
}

/** A response to a request, with information about earlier attempts. */
export interface Received {
  readonly reply: Reply;
  readonly request: ApiRequest;
  /** Name of the request for error messages. */
  readonly title: string;
  readonly attempts: number;
  /** Whether the service may have processed an earlier attempt. */
  readonly isUncertain: boolean;
}

/** Statuses that come from a proxy rather than the service. */
const proxyStatuses = [502, 503, 504];

/**
 * Returns the data of a successful response; undefined if it has no data. Throws an AnimalStoreError for any
 * other response.
 */
export function readData({ reply, request, title, attempts, isUncertain }: Received): unknown {
  const { status, headers, text, stream } = reply;
  if (stream !== undefined) return stream;
  const requestId = headers.get('x-request-id') ?? undefined;
  const common = { status, requestId, headers, attempts };
  const isJson = /json/i.test(headers.get('content-type') ?? '');
  // 204 is the response to a deletion, or to a change if the key may not read the result.
  if (status === 204 && request.method !== 'GET' && request.id !== undefined) return undefined;
  if (status >= 200 && status < 300 && isJson) {
    const data = parseData(text, {
      ...common,
      code: 'connection_failed',
      message: `The response to ${title} is incomplete.`,
    });
    if (typeof data === 'object' && data !== null && Array.isArray(data) === (request.isList ?? false))
      return data;
  }
  const error = isJson && status >= 400 ? parseErrorBody(text, status) : undefined;
  if (error === undefined) throw foreignError(common, title);
  // After an attempt with an unknown outcome, the resource is gone as requested. With `ifMatch`, this is not enough:
  // another client may have deleted it, even a later version.
  const isUnconditional = request.options?.ifMatch === undefined;
  if (isUncertain && isUnconditional && request.method === 'DELETE' && goneCodes.includes(error.code))
    return undefined;
  const { code, message } = error;
  throw createError({ ...common, code, message }, readDetails(error), retryAfterSeconds(headers));
}

function parseData(text: string, problem: Problem): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ConnectionError({ ...problem, status: undefined, cause });
  }
}

/**
 * Returns the error for a response that did not come from the service. Only 429 and 503 have the same meaning
 * on any server.
 */
function foreignError(common: Omit<Problem, 'code' | 'message'>, title: string) {
  const { status = 0, headers = new Headers() } = common;
  const code = { 429: 'rate_limit_exceeded', 503: 'service_unavailable' }[status];
  const message = foreignMessage(status, headers.get('location'), title);
  if (code !== undefined) return createError({ ...common, code, message }, [], retryAfterSeconds(headers));
  return new ServerError({ ...common, code: 'unexpected_response', message });
}

function foreignMessage(status: number, target: string | null, title: string): string {
  if (status === 0 || (status >= 300 && status < 400 && status !== 304)) {
    const to = target ? ` to ${target}` : '';
    return `${title} was redirected${to}. The client does not follow redirects. Change the url.`;
  }
  const sender = proxyStatuses.includes(status)
    ? 'a proxy that got no response from the Animal Store API.'
    : 'a server other than the Animal Store API. Check the url and any proxies in between.';
  return `${title} got a ${status} from ${sender}`;
}

function parseErrorBody(text: string, status: number): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null;
    const isOurs =
      typeof body?.code === 'string' && typeof body.message === 'string' && body.status === status;
    return isOurs ? (body as ErrorBody) : undefined;
  } catch {
    return undefined;
  }
}

function readDetails({ details }: ErrorBody): readonly ErrorDetail[] {
  return Array.isArray(details) ? details : [];
}

function retryAfterSeconds(headers: Headers): number | undefined {
  const ms = retryAfterMs(headers);
  return ms === undefined ? undefined : Math.ceil(ms / 1_000);
}
