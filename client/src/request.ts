import type { Answer } from './answer.js';
import type { Int64 } from './contract.js';
import { integerText } from './json.js';

type Int64OrText = Int64 | string;

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
  /** The path: `orders`, `orders/7` or `orders/7/approve`. */
  readonly collection: string;
  readonly id?: Int64;
  readonly step?: string;
  /** Parameters; those that are undefined are left out. */
  readonly query?: Readonly<Record<string, Int64OrText | readonly Int64[] | undefined>>;
  readonly body?: object;
  readonly options?: (PostOptions & ChangeOptions & { readonly ifNoneMatch?: '*' | undefined }) | undefined;
  /** The answer is an array. */
  readonly isList?: boolean;
  /** It is not counted, so it does not wait for limits. */
  readonly isFree?: boolean;
}

/** Sends a request until it is answered; throws AnimalStoreError, or the reason of the signal. */
export type Send = <Data>(request: Request) => Promise<Answer<Data>>;

/** The path and query of a request. Throws TypeError for what is no exact integer, and for an id that is left out. */
export function targetOf(request: Request): string {
  const { collection, step, query = {} } = request;
  const id = 'id' in request ? [integerText('id', request.id as Int64)] : [];
  const path = ['', collection, ...id, ...(step ? [step] : [])].join('/');
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(textOf(name, value ?? ''))}`);
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path;
}

function textOf(name: string, value: Int64OrText | readonly Int64[]): string {
  if (Array.isArray(value)) return value.map((each) => integerText(name, each)).join();
  return typeof value === 'string' ? value : integerText(name, value as Int64);
}
