import type { AdminInput } from '../../contract/admin/operations.ts';
import { ApiError } from '../../contract/api-error.ts';
import { toResult } from '../../contract/operation.ts';
import { formatActor } from '../../domain/actor.ts';
import type { SignedIn } from '../../operations/admin/handlers.ts';
import { isUnavailable } from '../../operations/errors.ts';
import { presentSession, type SessionSecrets, sessionLifetimeMs } from '../../operations/sign-in/sessions.ts';
import type { PlainResponse } from '../pipeline/plain-response.ts';
import { readCookie, readCredential } from '../pipeline/request-head.ts';
import type { AdminContext, AdminIncoming, AdminOperation } from './context.ts';

export interface Authenticated extends SignedIn {
  readonly isByCookie: boolean;
}

/**
 * Finds the operator by the token or session of the request. A token takes precedence over a cookie. Throws
 * `sign_in_required`, `sign_in_failed` or `too_many_sign_ins`. A valid token is accepted even from a network with too
 * many failed sign-ins.
 */
export async function authenticate(context: AdminContext, incoming: AdminIncoming): Promise<Authenticated> {
  const { request } = incoming;
  const credential = readCredential(request.headers);
  if (credential.kind !== 'none') {
    const token = credential.kind === 'key' ? credential.key : '';
    const signedIn = await context.sessions.byToken(token);
    if (signedIn === undefined)
      throw recordFailedSignIn(context, incoming, 'token', new ApiError('sign_in_failed'));
    return { ...signedIn, isByCookie: false };
  }
  const secrets = readSessionSecrets(request, context.site.isSecure);
  const signedIn = secrets && (await context.sessions.bySecrets(secrets));
  if (signedIn === undefined) throw new ApiError('sign_in_required');
  return { ...signedIn, isByCookie: true };
}

/**
 * Like `authenticate`, but during an outage, a token that cannot be looked up is accepted if it was valid within the
 * last hour. Returns a name that identifies the operator.
 */
export async function authenticateDuringOutage(
  context: AdminContext,
  incoming: AdminIncoming,
): Promise<string> {
  const { recentTokens } = context;
  const credential = readCredential(incoming.request.headers);
  const token = credential.kind === 'key' ? credential.key : '';
  try {
    const { isByCookie, actor } = await authenticate(context, incoming);
    if (!isByCookie) recentTokens.add(token);
    return formatActor(actor);
  } catch (error) {
    if (isUnavailable(error) && recentTokens.has(token)) return token;
    if (!isUnavailable(error)) recentTokens.remove(token);
    throw error;
  }
}

/**
 * Counts and logs a failed sign-in. Returns the error to send, which is `too_many_sign_ins` after too many failures
 * from the same network.
 * Call this only after the credential was found to be invalid, so that failures of other clients never lock out an
 * operator with a valid credential. The log contains the address, but no part of the credential.
 */
export function recordFailedSignIn(
  { failedSignIns, log }: AdminContext,
  { network, client, requestId }: AdminIncoming,
  by: 'token' | 'code' | 'body',
  apiError: ApiError,
): ApiError {
  const waitSeconds = failedSignIns.waitSeconds(network);
  if (waitSeconds > 0) return new ApiError('too_many_sign_ins');
  const failures = failedSignIns.add(network);
  const isLast = failedSignIns.waitSeconds(network) > 0;
  log.warn(
    { requestId, address: client, by, failures },
    isLast ? 'failed sign-in; additional attempts from this network must wait' : 'failed sign-in',
  );
  return apiError;
}

// A session has two secrets. Browsers send cookies to every port of a host, so a server on another port could receive
// the secret in the cookie. The second secret stays in the page, which stores it per origin and sends it in a header.

const secretHeader = 'X-Session-Secret';

/**
 * Browsers accept the prefix `__Host-` only with `Secure`, and only for the host that sets the cookie (RFC 6265bis,
 * section 4.1.3.2).
 */
const secureCookieName = '__Host-animal-store-session';

/** Cookies do not distinguish ports, so two services on one machine need different cookie names without `Secure`. */
function cookieName({ headers }: Request, isSecure: boolean): string {
  if (isSecure) return secureCookieName;
  return `animal-store-session-${/:(\d{1,5})$/.exec(headers.get('host') ?? '')?.[1] ?? '80'}`;
}

function readSessionSecrets(request: Request, isSecure: boolean): SessionSecrets | undefined {
  const inPage = request.headers.get(secretHeader);
  const inCookie = readCookie(request, cookieName(request, isSecure));
  return inPage === null || inCookie === undefined ? undefined : { inCookie, inPage };
}

/** Returns the `Set-Cookie` value that stores the secret or, without a secret, deletes the cookie. */
function sessionCookie(request: Request, isSecure: boolean, secret = ''): string {
  const maxAgeSeconds = secret === '' ? 0 : Math.floor(sessionLifetimeMs / 1_000);
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${cookieName(request, isSecure)}=${secret}; ${attributes}${isSecure ? '; Secure' : ''}`;
}

/** Exchanges a token or a code for a session, and ends the page's previous session. */
export async function signIn(
  context: AdminContext,
  incoming: AdminIncoming,
  operation: AdminOperation,
  { body }: AdminInput<'createSession'>,
): Promise<PlainResponse> {
  const { sessions, site, log } = context;
  const { request, client, requestId } = incoming;
  try {
    const { secrets, signedIn, isStored } = await sessions.signIn(body);
    const former = readSessionSecrets(request, site.isSecure);
    if (former !== undefined) await sessions.signOut(former);
    const fields = { requestId, address: client, operator: formatActor(signedIn.actor) };
    log.info(
      fields,
      isStored
        ? 'signed in'
        : 'signed in; the session could not be stored and will end when this process exits',
    );
    const shown = { ...presentSession(signedIn), secret: secrets.inPage };
    const { status, body: text = null } = toResult(operation, shown);
    const headers = { 'Set-Cookie': sessionCookie(request, site.isSecure, secrets.inCookie) };
    return { status, body: text, headers };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'sign_in_failed') throw error;
    throw recordFailedSignIn(context, incoming, body.token === undefined ? 'code' : 'token', error);
  }
}

export async function signOut(
  { sessions, site }: AdminContext,
  { request }: AdminIncoming,
  operation: AdminOperation,
): Promise<PlainResponse> {
  const secrets = readSessionSecrets(request, site.isSecure);
  if (secrets !== undefined) await sessions.signOut(secrets);
  const { status } = toResult(operation, undefined);
  return { status, body: null, headers: { 'Set-Cookie': sessionCookie(request, site.isSecure) } };
}
