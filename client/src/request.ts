import type { Answer } from './answer.js';
import type { Int64 } from './contract.js';
import { integerText } from './json.js';

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that each try may take, instead of the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

/** What every POST takes. */
export interface PostOptions extends CallOptions {
  /**
   * What makes a repetition safe: 1 to 255 visible ASCII characters. Without one, the client makes one for each call, so
   * that its own retries do nothing twice. Give one to call again later, or from another process.
   */
  readonly idempotencyKey?: string | undefined;
}

/** What changes of an existing resource take. */
export interface ChangeOptions extends CallOptions {
  /** `etag` of the version that the change is based on: if there is a newer one, PreconditionError. */
  readonly ifMatch?: string | undefined;
}

/** A request of an operation, as the resources make it. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base address, with its query: `/pets?limit=100`. */
  readonly path: string;
  readonly body?: object;
  readonly options?: (PostOptions & ChangeOptions & { readonly ifNoneMatch?: '*' | undefined }) | undefined;
  /** It is not counted, so it does not wait for limits. */
  readonly isFree?: boolean;
}

/** Sends a request until it is answered; throws AnimalStoreError, or the reason of the signal. */
export type Send = <Data>(request: Request) => Promise<Answer<Data>>;

/** A path that ends in an id. */
export function pathOf(collection: string, id: Int64): string {
  return `/${collection}/${integerText('id', id)}`;
}

/** `?a=1&b=2` of the values that are given. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query && `?${query}`;
}
