import { type Limits, readLimits } from './limits.js';

/** A successful response with its parsed headers. */
export interface Answer<Data> {
  readonly data: Data;
  readonly headers: Headers;
  readonly status: number;
  /** `X-Request-Id` of the response. Quote it when you report a problem to the operator. */
  readonly requestId: string | undefined;
  /** ETag of `data`, to pass as `ifMatch`. */
  readonly etag: string | undefined;
  /** Remaining quota of the account. */
  readonly rateLimit: Limits | undefined;
}

export function createAnswer<Data>(data: Data, status: number, headers: Headers): Answer<Data> {
  return {
    data,
    headers,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    etag: headers.get('etag') ?? undefined,
    rateLimit: readLimits(headers),
  };
}

/** A promise for the data of a call, with access to the full response. */
export class Call<Data> extends Promise<Data> {
  #answer?: Promise<Answer<Data>>;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @internal */
  static of<Data>(answer: Promise<Answer<Data>>): Call<Data> {
    const call = new Call<Data>((resolve, reject) => answer.then(({ data }) => resolve(data), reject));
    call.#answer = answer;
    return call;
  }

  /** Resolves with the data and the response's status, headers, request id, ETag and limits. */
  withResponse(): Promise<Answer<Data>> {
    // The returned promise reports errors, so the call itself must not cause an unhandled rejection.
    this.catch(() => {});
    return this.#answer as Promise<Answer<Data>>;
  }
}
