/** Client for the admin API. */
import { markConnectionLost, markConnectionRestored, reloadAll } from './connection.ts';
import type { InputArguments, ListRoute, ResponseOf, Route } from './contract.ts';
import { createAttempt } from './idempotent-attempts.ts';
import { parseJson, stringifyJson } from './json.ts';
import { sessionHeaders } from './session-secret.ts';
import { hasSessionEnded, session } from './session-state.ts';

export const basePath = '/admin/v1';

/** An invalid field, parameter or header of the request. */
export interface Mistake {
  readonly in: string;
  readonly name: string;
  readonly message: string;
}

/** A failed operation. `message` explains what the operator can do. */
export class Failure extends Error {
  readonly code: string;
  readonly mistakes: readonly Mistake[];
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Seconds until a retry can succeed; undefined if retrying does not help. */
  readonly retryAfterSeconds: number | undefined;
  constructor(
    code: string,
    message: string,
    more: Partial<Pick<Failure, 'mistakes' | 'status' | 'retryAfterSeconds'>> = {},
  ) {
    super(message);
    this.code = code;
    this.mistakes = more.mistakes ?? [];
    this.status = more.status ?? 0;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

export interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  /** ETag of the version that the change is based on. */
  readonly ifMatch?: string | undefined;
  /** Aborts the request, which then rejects with a `Failure` whose code is `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls an operation, as in `call('GET /accounts/{accountId}', { params: { accountId: 7 } })`. Throws a
 * `Failure`.
 */
export function call<Name extends Route>(
  name: Name,
  ...input: InputArguments<Name>
): Promise<ResponseOf<Name>>;
export async function call(name: Route, input: AnyInput = {}): Promise<unknown> {
  const { text } = await send(name, input);
  return text === '' ? undefined : parseJson(text);
}

/** A response body with its ETag. */
export interface WithEtag<T> {
  readonly data: T;
  readonly tag: string;
}

/** Reads an object with the ETag that a conditional change needs. Throws a `Failure`. */
export function callWithEtag<Name extends Route>(
  name: Name,
  ...input: InputArguments<Name>
): Promise<WithEtag<ResponseOf<Name>>>;
export async function callWithEtag(name: Route, input: AnyInput = {}): Promise<WithEtag<unknown>> {
  const { text, tag } = await send(name, input);
  return { data: parseJson(text), tag };
}

/** Gets a page of a list. Throws a `Failure`. */
export function callPage<Name extends ListRoute>(
  name: Name,
  ...input: InputArguments<Name>
): Promise<ResponseOf<Name>>;
export async function callPage(name: Route, input: AnyInput = {}): Promise<unknown> {
  const { text, next } = await send(name, input);
  return { items: parseJson(text), next };
}

/** Returns the path and query of a request. */
export function requestUrl(path: string, { params = {}, query = {} }: AnyInput = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const words = new URLSearchParams(
    given.flatMap(([key, value]) => [value].flat().map((each) => [key, String(each)])),
  ).toString();
  return `${basePath}${filled}${words === '' ? '' : `?${words}`}`;
}

interface Answer {
  readonly text: string;
  /** Cursor of the next page. In a feed, the event id after which the next page begins. */
  readonly next: string | undefined;
  /** ETag of the response; empty if there is none. */
  readonly tag: string;
}

async function send(name: string, input: AnyInput): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ');
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  if (input.ifMatch !== undefined) headers['If-Match'] = input.ifMatch;
  const body = input.body === undefined ? null : stringifyJson(input.body);
  const address = requestUrl(path, input);
  const attempt = createAttempt(method, path, address, body);
  try {
    const sent = { method, headers: { ...headers, ...attempt.headers }, body, signal: input.signal ?? null };
    const response = await fetchResponse(address, sent);
    const text = await trackConnection(response.text());
    attempt.settle();
    return { text, next: nextCursor(response), tag: response.headers.get('ETag') ?? '' };
  } catch (error) {
    if (!(error instanceof Failure) || method === 'GET') throw error;
    if (!isOutcomeUnknown(error)) {
      // A 503 means that nothing was changed, unless its message states that the outcome is unknown.
      if (error.code !== 'service_unavailable') attempt.settle();
      throw error;
    }
    reloadAll();
    const advice = attempt.isRepeatable
      ? 'Try again: the change is applied only once.'
      : 'Check whether the change was applied before you try again.';
    throw new Failure('outcome_unknown', `No response was received, so the outcome is unknown. ${advice}`);
  }
}

/** Whether a failed request may still have been executed, because the connection broke or a proxy responded. */
function isOutcomeUnknown({ code, status }: Failure): boolean {
  return code === 'connection_lost' || (code === 'unexplained' && status >= 500);
}

/** Sends a request with the session's credentials. Throws a `Failure` unless it succeeds. */
export async function fetchResponse(address: string, init: RequestInit): Promise<Response> {
  const headers = { ...init.headers, ...sessionHeaders() };
  const response = await trackConnection(fetch(address, { ...init, headers }));
  if (response.ok) return response;
  throw toFailure(
    response.status,
    response.headers.get('Retry-After'),
    await trackConnection(response.text()),
  );
}

/** Awaits a response, and records whether the service was reachable. */
async function trackConnection<T>(sent: Promise<T>): Promise<T> {
  try {
    const answer = await sent;
    markConnectionRestored();
    return answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw new Failure('aborted', '');
    markConnectionLost();
    throw new Failure('connection_lost', 'The service is unreachable. This page reconnects automatically.');
  }
}

/** Converts an error response to a `Failure`. A 401 also shows the sign-in page or dialog. */
export function toFailure(status: number, retryAfter: string | null, text: string): Failure {
  const seconds = retryAfter === null ? undefined : Number(retryAfter);
  if (status === 401) markSessionEnded();
  try {
    const {
      code,
      message,
      details = [],
    } = parseJson(text) as {
      code: string;
      message: string;
      details?: readonly Mistake[];
    };
    // The default message, which is written for API clients. Imports that end with the session have their own.
    const isDefault = code === 'sign_in_required' && message.startsWith('Sign in');
    if (isDefault) return new Failure(code, endedMessage, { status });
    return new Failure(code, message, { mistakes: details, status, retryAfterSeconds: seconds });
  } catch {
    const message = `The response has status ${status} and no error message. It probably came from a proxy.`;
    return new Failure('unexplained', message, { status, retryAfterSeconds: seconds });
  }
}

const endedMessage = 'Your session ended. Sign in, then try again.';

/** Marks an active session as ended without changing the page. */
function markSessionEnded(): void {
  if (session.peek()) hasSessionEnded.value = true;
  else session.value = undefined;
}

function nextCursor({ headers, url }: Response): string | undefined {
  const link = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const { searchParams } = new URL(link, url);
  return searchParams.get('cursor') ?? searchParams.get('after') ?? undefined;
}
