import { randomBytes } from 'node:crypto';
import { adminBasePath } from '../../src/contract/admin/operations.ts';
import { computeFingerprint, generateKey, lastFour } from '../../src/domain/key.ts';
import type { Role } from '../../src/domain/role.ts';
import type { Store } from '../../src/operations/units.ts';
import { checkAdminResponse } from './admin-contract.ts';
import type { TestApp } from './app.ts';

export interface AdminCallOptions {
  readonly token?: string | undefined;
  readonly session?: TestSession | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, bytes and streams are sent unchanged. Any other value is sent as JSON. */
  readonly body?: unknown;
}

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Body parsed as JSON. Integers may be rounded. */
  readonly body: unknown;
  /** The `code` of an error response. */
  readonly code: string | undefined;
}

/** Both secrets of a session: the browser sends the cookie, and the console sends the header. */
export interface TestSession {
  /** Value of the `Cookie` header. */
  readonly cookie: string;
  /** Value of the `X-Session-Secret` header. */
  readonly secret: string;
}

/** An operator and the operator's token. */
export interface TestOperator {
  readonly id: number;
  readonly name: string;
  readonly token: string;
}

/** Base URL of a running app's admin listener. */
export function adminUrl({ app }: Pick<TestApp, 'app'>): string {
  if (app.console === undefined) throw new Error('The admin listener is off.');
  return app.console.url;
}

let operators = 0;

/** Adds an operator to the app's store. */
export function addOperator({ app, clock }: TestApp, role: Role): Promise<TestOperator> {
  return addOperatorTo(app.admin.storage, role, clock.now());
}

/** Adds an operator to a store. */
export async function addOperatorTo(
  store: Pick<Store, 'write'>,
  role: Role,
  createdAt = Date.now(),
): Promise<TestOperator> {
  const token = generateKey(randomBytes, 'token');
  const name = `${role}-${++operators}`;
  const { id } = await store.write('createOperator', {
    name,
    role,
    fingerprint: computeFingerprint(token),
    lastFour: lastFour(token),
    createdAt,
  });
  return { id, name, token };
}

/** Sends a request to the admin listener. `target` is relative to /admin/v1 unless it is `root:/…`. */
export function callAdmin(
  app: Pick<TestApp, 'app'>,
  method: string,
  target: string,
  options: AdminCallOptions = {},
): Promise<AdminAnswer> {
  return sendAdmin(adminUrl(app), method, target, options);
}

/** Like `callAdmin`, for the listener at `url`. */
export async function sendAdmin(
  url: string,
  method: string,
  target: string,
  { token, session, headers = {}, body }: AdminCallOptions = {},
): Promise<AdminAnswer> {
  const path = target.startsWith('root:') ? target.slice('root:'.length) : adminBasePath + target;
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(session !== undefined && headersOf(session)),
      ...(body !== undefined && !isRaw(body) && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!target.startsWith('root:'))
    checkAdminResponse(method, target, { status: response.status, headers: response.headers, text });
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const parsed: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
  const { code } = (parsed ?? {}) as { code?: string };
  return { status: response.status, headers: response.headers, text, body: parsed, code };
}

/** Headers that the console's page sends with every change. */
export function fromConsole(app: TestApp): Record<string, string> {
  return { Origin: adminUrl(app), 'Sec-Fetch-Site': 'same-origin' };
}

/** Signs in with a token. */
export async function signIn(app: TestApp, token: string): Promise<TestSession> {
  return sessionOf(await callAdmin(app, 'POST', '/session', { body: { token } }));
}

/** The session that a successful sign-in created. */
export function sessionOf({ status, headers, text, body }: AdminAnswer): TestSession {
  if (status !== 201) throw new Error(`Signing in returned ${status}: ${text}`);
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return { cookie, secret: (body as { secret: string }).secret };
}

/** Headers of a request within the session. */
export function headersOf({ cookie, secret }: TestSession): Record<string, string> {
  return { Cookie: cookie, 'X-Session-Secret': secret };
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;
}
