import type { Answer } from './answer.js';
import type { Int64 } from './contract.js';
import { integerText } from './json.js';

type Int64OrText = Int64 | string;

/** Options of every call. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds per attempt; defaults to the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Further headers, for a gateway or tracing. They cannot replace those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `X-Request-Id` of every attempt: 1 to 64 characters of `A–Z a–z 0–9 . _ -`. Defaults to one that the service makes. */
  readonly requestId?: string | undefined;
}

/** Options of every POST. */
export interface PostOptions extends CallOptions {
  /**
   * Makes a repetition of the call safe: 1 to 255 visible ASCII characters. Defaults to a random one, which covers the retries
   * of this call. Pass one to call again later, or from another process.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of changes to an existing resource. */
export interface ChangeOptions extends CallOptions {
  /** `etag` of the version that the change is based on: PreconditionError if there is a newer one. */
  readonly ifMatch?: string | undefined;
}

/** A request of an operation, as the resources make it. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path: `orders`, `orders/7` or `orders/7/approve`. */
  readonly collection: string;
  readonly id?: Int64;
  readonly step?: string;
  /** Parameters; those that are undefined are left out. */
  readonly query?: Readonly<Record<string, Int64OrText | readonly Int64[] | readonly string[] | undefined>>;
  readonly body?: object;
  readonly options?: (PostOptions & ChangeOptions & { readonly ifNoneMatch?: '*' | undefined }) | undefined;
  /** The answer is an array. */
  readonly isList?: boolean;
  /** It is not counted, so it does not wait for limits. */
  readonly isFree?: boolean;
  /** Seconds that the service may delay the response; they are not part of `timeoutMs`. */
  readonly delaySeconds?: number;
  /** It waits for limits and for the end of outages however long they last. */
  readonly isPatient?: boolean;
}

/** Sends a request until it has a result. Throws AnimalStoreError, or the reason of the signal. */
export type Send = <Data>(request: Request) => Promise<Answer<Data>>;

/** The path and query of a request. Throws ArgumentError for a number that is not an exact integer, and for a missing id. */
export function targetOf(request: Request): string {
  const { collection, step, query = {} } = request;
  const id = 'id' in request ? [integerText('id', request.id as Int64)] : [];
  const path = ['', collection, ...id, ...(step ? [step] : [])].join('/');
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    textsOf(name, value).map((text) => `${name}=${encodeURIComponent(text)}`),
  );
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path;
}

/** The values of a parameter: ids are joined by commas, texts repeat it. */
function textsOf(name: string, value: NonNullable<Request['query']>[string]): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return [integerText(name, value as Int64)];
  if (value.every((each) => typeof each === 'string')) return value;
  return [value.map((each) => integerText(name, each)).join()];
}
