import type { Answer } from './answer.js';
import type { Int64 } from './contract.js';
import { integerText } from './json.js';

type Int64OrText = Int64 | string;

/** Options for every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of each attempt in milliseconds. Defaults to the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Additional headers, for example for a gateway or tracing. They cannot replace headers that the client sets. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * `X-Request-Id` of every attempt: 1 to 64 characters of `A–Z a–z 0–9 . _ -`. By default, the service
   * generates an id.
   */
  readonly requestId?: string | undefined;
}

/** Options for every POST. */
export interface PostOptions extends CallOptions {
  /**
   * Makes it safe to repeat the call. 1 to 255 visible ASCII characters. Defaults to a random key, which all retries
   * of this call use. Pass a key if you may repeat the call later or from another process.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options for changes to an existing resource. */
export interface ChangeOptions extends CallOptions {
  /**
   * `etag` of the version that the change is based on. The call rejects with a PreconditionError if there is
   * a newer version.
   */
  readonly ifMatch?: string | undefined;
}

/** A request for an API operation. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The collection, id and `step` form the path: `orders`, `orders/7` or `orders/7/approve`. */
  readonly collection: string;
  readonly id?: Int64;
  readonly step?: string;
  /** A child's collection, the name of its id, and the id: the path is `webhooks/7/deliveries/9/redeliver`. */
  readonly child?: readonly [collection: string, name: string, id: Int64];
  /** Query parameters. Undefined values are omitted. */
  readonly query?: Readonly<Record<string, Int64OrText | readonly Int64[] | readonly string[] | undefined>>;
  readonly body?: object;
  readonly options?: (PostOptions & ChangeOptions & { readonly ifNoneMatch?: '*' | undefined }) | undefined;
  /** Whether the response is an array. */
  readonly isList?: boolean;
  /** Whether the response is an event stream, whose body is returned before it has been read. */
  readonly isStream?: boolean;
  /** Whether the request does not count against the limit, and therefore never waits for limits. */
  readonly isFree?: boolean;
  /** Time that the service may delay the response, in addition to `timeoutMs`. */
  readonly delaySeconds?: number;
  /** Whether the request waits for limits and outages of any length. */
  readonly isPatient?: boolean;
}

/** Sends a request, and retries it until there is a result. Throws an AnimalStoreError or the signal's reason. */
export type Send = <Data>(request: ApiRequest) => Promise<Answer<Data>>;

/** Returns the path and query of a request. Throws an ArgumentError for an unsafe integer or a missing id. */
export function buildTarget(request: ApiRequest): string {
  const { collection, child, step, query = {} } = request;
  const id = 'id' in request ? [integerText('id', request.id as Int64)] : [];
  const below = child ? [child[0], integerText(child[1], child[2])] : [];
  const path = ['', collection, ...id, ...below, ...(step ? [step] : [])].join('/');
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    formatValues(name, value).map((text) => `${name}=${encodeURIComponent(text)}`),
  );
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path;
}

/** Returns the values of a parameter. Ids are joined with commas; a list of strings becomes a repeated parameter. */
function formatValues(name: string, value: NonNullable<ApiRequest['query']>[string]): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return [integerText(name, value as Int64)];
  if (value.every((each) => typeof each === 'string')) return value;
  return [value.map((each) => integerText(name, each)).join()];
}
