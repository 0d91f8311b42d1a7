/** Calls of the admin API. */
import { connectionHealed, connectionLost } from './connection.ts';
import type { AnswerOf, InputArguments, ListRoute, Route } from './contract.ts';
import { parseJson, writeJson } from './json.ts';
import { sessionHeaders } from './session-secret.ts';
import { session } from './session-state.ts';

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
  /** Seconds after which it may go well; undefined where waiting does not help. */
  readonly retryAfterSeconds: number | undefined;
  constructor(code: string, message: string, mistakes: readonly Mistake[] = [], retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.mistakes = mistakes;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

/** Calls an operation: `call('GET /accounts/{accountId}', { params: { accountId: 7 } })`. Throws a `Failure`. */
export function call<Name extends Route>(name: Name, ...input: InputArguments<Name>): Promise<AnswerOf<Name>>;
export async function call(name: Route, input: AnyInput = {}): Promise<unknown> {
  const { text } = await send(name, input);
  return text === '' ? undefined : parseJson(text);
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
  const words = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `${basePath}${filled}${words === '' ? '' : `?${words}`}`;
}

interface Answer {
  readonly text: string;
  /** The cursor of the next page. */
  readonly next: string | undefined;
}

async function send(name: string, input: AnyInput): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ');
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  const body = input.body === undefined ? null : writeJson(input.body);
  const response = await responseOf(addressOf(path, input), { method, headers, body });
  return { text: await reached(response.text()), next: nextOf(response) };
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
  } catch {
    connectionLost();
    throw new Failure('connection_lost', 'The service cannot be reached. This page goes on when it can.');
  }
}

/** Makes the error body of an answer a `Failure`; a session that has ended leads to the sign-in. */
export function failureOf(status: number, retryAfter: string | null, text: string): Failure {
  const seconds = retryAfter === null ? undefined : Number(retryAfter);
  if (status === 401) session.value = undefined;
  try {
    const { code, message, details } = parseJson(text) as {
      code: string;
      message: string;
      details?: readonly Mistake[];
    };
    return new Failure(code, message, details, seconds);
  } catch {
    const message = `The service answered ${status} without a reason. Its log may say more.`;
    return new Failure('unexplained', message, [], seconds);
  }
}

function nextOf({ headers, url }: Response): string | undefined {
  const link = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return undefined;
  return new URL(link, url).searchParams.get('cursor') ?? undefined;
}
