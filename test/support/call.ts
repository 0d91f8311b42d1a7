import { parseJson } from '../../src/contract/json.ts';
import { basePath } from '../../src/contract/operations.ts';
import { checkResponse } from './contract.ts';

export interface CallOptions {
  /** The API key. If null, no key is sent. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, sent unchanged. A stream is sent in chunks, without Content-Length. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Content-Type of the body. Defaults to `application/json`. If null, the header is not sent. */
  readonly type?: string | null;
}

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly details?: readonly { readonly in: string; readonly name: string; readonly message: string }[];
}

/** A fully read response that conforms to the contract. */
export class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;

  constructor(status: number, headers: Headers, text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** The parsed body, with integers as bigint. */
  get json(): unknown {
    return parseJson(this.text);
  }

  get error(): ErrorAnswer {
    return JSON.parse(this.text) as ErrorAnswer;
  }

  /** The value of a header. Empty if the header is absent. */
  header(name: string): string {
    return this.headers.get(name) ?? '';
  }

  /** The value of a header as an integer. NaN if the value is not an integer. */
  number(name: string): number {
    return /^\d+$/.test(this.header(name)) ? Number(this.header(name)) : Number.NaN;
  }
}

/** Sends a request to a path under /v1 and checks the response against the contract. */
export async function answerOf(
  url: string,
  method: string,
  target: string,
  { key = null, headers = {}, body, type = 'application/json' }: CallOptions,
): Promise<Answer> {
  const response = await fetch(url + basePath + target, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined || type === null ? {} : { 'Content-Type': type }),
      ...headers,
    },
    // Text is sent as bytes, because fetch sets a Content-Type for text.
    ...(body === undefined ? {} : { body: typeof body === 'string' ? new TextEncoder().encode(body) : body }),
  });
  const answer = new Answer(response.status, response.headers, await textOf(response));
  checkResponse(method, target, answer);
  return answer;
}

/** The body, or the first chunk of an event stream, which does not end. */
async function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  if (!isStream || response.body === null) return response.text();
  const reader = response.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new TextDecoder().decode(value);
}
