/** Calls of the admin API. */
import { connectionHealed, connectionLost, readAgain } from './connection.ts';
import type { AnswerOf, InputArguments, ListRoute, Route } from './contract.ts';
import { parseJson, writeJson } from './json.ts';
import { sessionHeaders } from './session-secret.ts';
import { hasEnded, session } from './session-state.ts';
import { attemptOf } from './unsettled.ts';

export const basePath = '/admin/v1';

/** A mistake in what was sent. */
export interface Mistake {
  readonly in: string;
  readonly name: string;
  readonly message: string;
}

/** An operation that did not come about; `message` says what to do. */
export class Failure extends Error {
  readonly code: string;
  readonly mistakes: readonly Mistake[];
  /** Of the response; 0 when there was none. */
  readonly status: number;
  /** Seconds after which it may go well; undefined where waiting does not help. */
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
  /** The entity tag that the change depends on. */
  readonly ifMatch?: string | undefined;
  /** Gives the request up: it rejects with a `Failure` that has the code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** Calls an operation: `call('GET /accounts/{accountId}', { params: { accountId: 7 } })`. Throws a `Failure`. */
export function call<Name extends Route>(name: Name, ...input: InputArguments<Name>): Promise<AnswerOf<Name>>;
export async function call(name: Route, input: AnyInput = {}): Promise<unknown> {
  const { text } = await send(name, input);
  return text === '' ? undefined : parseJson(text);
}

/** What was read, with its entity tag. */
export interface Tagged<T> {
  readonly data: T;
  readonly tag: string;
}

/** Reads what a change will depend on. Throws a `Failure`. */
export function callTagged<Name extends Route>(
  name: Name,
  ...input: InputArguments<Name>
): Promise<Tagged<AnswerOf<Name>>>;
export async function callTagged(name: Route, input: AnyInput = {}): Promise<Tagged<unknown>> {
  const { text, tag } = await send(name, input);
  return { data: parseJson(text), tag };
}

/** Gets a page of a list. Throws a `Failure`. */
export function callPage<Name extends ListRoute>(
  name: Name,
  ...input: InputArguments<Name>
): Promise<AnswerOf<Name>>;
export async function callPage(name: Route, input: AnyInput = {}): Promise<unknown> {
  const { text, next } = await send(name, input);
  return { items: parseJson(text), next };
}

/** The address of an operation, for links that the browser follows. */
export function addressOf(path: string, { params = {}, query = {} }: AnyInput = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const words = new URLSearchParams(
    given.flatMap(([key, value]) => [value].flat().map((each) => [key, String(each)])),
  ).toString();
  return `${basePath}${filled}${words === '' ? '' : `?${words}`}`;
}

interface Answer {
  readonly text: string;
  /** The cursor of the next page; of a feed, the id behind which it begins. */
  readonly next: string | undefined;
  /** The entity tag; empty where there is none. */
  readonly tag: string;
}

async function send(name: string, input: AnyInput): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ');
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  if (input.ifMatch !== undefined) headers['If-Match'] = input.ifMatch;
  const body = input.body === undefined ? null : writeJson(input.body);
  const address = addressOf(path, input);
  const attempt = attemptOf(method, path, address, body);
  try {
    const sent = { method, headers: { ...headers, ...attempt.headers }, body, signal: input.signal ?? null };
    const response = await responseOf(address, sent);
    const text = await reached(response.text());
    attempt.settle();
    return { text, next: nextOf(response), tag: response.headers.get('ETag') ?? '' };
  } catch (error) {
    if (!(error instanceof Failure) || method === 'GET') throw error;
    if (!isUnknown(error)) {
      // What a 503 did is mostly known, but its message says when it is not.
      if (error.code !== 'service_unavailable') attempt.settle();
      throw error;
    }
    readAgain();
    const advice = attempt.isRepeatable ? 'Try again: it is done only once.' : 'Check before you try again.';
    throw new Failure('outcome_unknown', `No response arrived, so the outcome is not known. ${advice}`);
  }
}

/** Whether a request that failed may have been done: the connection broke, or a proxy responded. */
function isUnknown({ code, status }: Failure): boolean {
  return code === 'connection_lost' || (code === 'unexplained' && status >= 500);
}

/** Sends a request of the session. Throws a `Failure` unless it succeeds. */
export async function responseOf(address: string, init: RequestInit): Promise<Response> {
  const headers = { ...init.headers, ...sessionHeaders() };
  const response = await reached(fetch(address, { ...init, headers }));
  if (response.ok) return response;
  throw failureOf(response.status, response.headers.get('Retry-After'), await reached(response.text()));
}

/** What comes when the service can be reached; what became of the connection is remembered. */
async function reached<T>(sent: Promise<T>): Promise<T> {
  try {
    const answer = await sent;
    connectionHealed();
    return answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw new Failure('aborted', '');
    connectionLost();
    throw new Failure('connection_lost', 'The service cannot be reached. This page reconnects by itself.');
  }
}

/** Makes the error body of an answer a `Failure`; a session that has ended leads to the sign-in. */
export function failureOf(status: number, retryAfter: string | null, text: string): Failure {
  const seconds = retryAfter === null ? undefined : Number(retryAfter);
  if (status === 401) noteEnd();
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
    if (code === 'sign_in_required') return new Failure(code, endedMessage, { status });
    return new Failure(code, message, { mistakes: details, status, retryAfterSeconds: seconds });
  } catch {
    const message = `Status ${status} without an explanation. It is probably from a proxy.`;
    return new Failure('unexplained', message, { status, retryAfterSeconds: seconds });
  }
}

const endedMessage = 'Your session ended, so this was not done. Sign in, then try again.';

/** A session that was in use leaves its page as it is. */
function noteEnd(): void {
  if (session.peek()) hasEnded.value = true;
  else session.value = undefined;
}

function nextOf({ headers, url }: Response): string | undefined {
  const link = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const { searchParams } = new URL(link, url);
  return searchParams.get('cursor') ?? searchParams.get('after') ?? undefined;
}
