import { type Limits, limitsOf } from './limits.js';

/** A success with what its headers say. */
export interface Answer<Data> {
  readonly data: Data;
  readonly headers: Headers;
  readonly status: number;
  /** The service's id of the request, for reports to its operator. */
  readonly requestId: string | undefined;
  /** The version of what `data` shows, for `ifMatch`. */
  readonly etag: string | undefined;
  /** What was left of the account's limits. */
  readonly rateLimit: Limits | undefined;
}

export function answerOf<Data>(data: Data, status: number, headers: Headers): Answer<Data> {
  return {
    data,
    headers,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    etag: headers.get('etag') ?? undefined,
    rateLimit: limitsOf(headers),
  };
}

/** A call under way: a promise of its data, which has the whole answer, too. */
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

  /** The data with status, headers, request id, entity tag and limits. */
  withResponse(): Promise<Answer<Data>> {
    // Whoever takes the answer gets its error there.
    this.catch(() => {});
    return this.#answer as Promise<Answer<Data>>;
  }
}
