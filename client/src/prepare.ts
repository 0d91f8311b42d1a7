import { ArgumentError } from './errors.js';
import { stringifyJson } from './json.js';
import { type ApiRequest, buildTarget } from './request.js';
import { type Settings, validateTimeout } from './settings.js';

/** The parts of a request that are the same for all attempts. */
export type Prepared = ReturnType<typeof prepare>;

/** Prepares a request. Throws an ArgumentError if it cannot be sent. */
export function prepareRequest(request: ApiRequest, settings: Settings): Prepared {
  try {
    return prepare(request, settings);
  } catch (cause) {
    throw cause instanceof ArgumentError ? cause : new ArgumentError((cause as Error).message, cause);
  }
}

function prepare(request: ApiRequest, settings: Settings) {
  const {
    method,
    isFree = false,
    delaySeconds = 0,
    isPatient = false,
    isStream = false,
    options = {},
  } = request;
  const url = settings.base + buildTarget(request);
  const body = request.body && stringifyJson(request.body);
  return {
    method,
    url,
    /** Name of the request for error messages. */
    title: `${method} ${url}`,
    headers: buildHeaders(request, settings),
    body,
    timeoutMs: validateTimeout(options.timeoutMs ?? settings.timeoutMs) + delaySeconds * 1_000,
    /** Whether the service may delay the response, so that its rate-limit headers may be outdated. */
    isDelayed: delaySeconds > 0,
    /** Maximum total time to wait for limits and outages. */
    maxWaitMs: isPatient ? Number.POSITIVE_INFINITY : settings.maxWaitMs,
    signal: options.signal,
    isStream,
    isFree,
    /** Whether the request can change anything. An empty patch only reads. */
    isChange: method !== 'GET' && !(method === 'PATCH' && body === '{}'),
    /**
     * Whether the request can safely be repeated. Every POST has an Idempotency-Key, but a repeated PATCH might
     * undo a change by another client.
     */
    isRepeatable: method !== 'PATCH' || options.ifMatch !== undefined || body === '{}',
  };
}

function buildHeaders({ method, body, isStream, options = {} }: ApiRequest, settings: Settings): Headers {
  const headers = new Headers(settings.headers);
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  const { ifMatch, ifNoneMatch, requestId, idempotencyKey } = options;
  const own = {
    accept: isStream ? 'text/event-stream' : 'application/json',
    authorization: settings.authorization,
    'if-match': ifMatch,
    'if-none-match': ifNoneMatch,
    'x-request-id': requestId,
    'idempotency-key': method === 'POST' ? (idempotencyKey ?? newIdempotencyKey()) : undefined,
    'content-type': body && (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'),
  };
  for (const [name, value] of Object.entries(own)) if (value !== undefined) headers.set(name, value);
  return headers;
}

/** Returns 128 random bits. Does not use crypto.randomUUID, which is missing on pages without HTTPS. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
