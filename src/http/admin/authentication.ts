import { Refusal } from '../../domain/refusal.ts';
import type { SignedIn } from '../../operations/admin/handlers.ts';
import { isUnavailable } from '../../operations/if-available.ts';
import { credentialOf } from '../credential.ts';
import type { AdminContext, AdminIncoming } from './context.ts';
import { sessionSecretsOf } from './cookies.ts';

/** Who makes a request, and whether a browser sent the proof by itself. */
export interface Authenticated extends SignedIn {
  readonly isByCookie: boolean;
}

/**
 * The operator whose token or session a request has. A token goes before a cookie. Refuses `sign_in_required`, `sign_in_failed` and
 * `too_many_sign_ins`; a valid token is taken even from a network that failed too often.
 */
export async function authenticate(context: AdminContext, incoming: AdminIncoming): Promise<Authenticated> {
  const { request } = incoming;
  const credential = credentialOf(request.headers);
  if (credential.kind !== 'none') {
    const token = credential.kind === 'key' ? credential.key : '';
    const signedIn = await context.sessions.byToken(token);
    if (signedIn === undefined) throw failedSignIn(context, incoming, 'token', new Refusal('sign_in_failed'));
    return { ...signedIn, isByCookie: false };
  }
  const secrets = sessionSecretsOf(request, context.site.isSecure);
  const signedIn = secrets && (await context.sessions.bySecrets(secrets));
  if (signedIn === undefined) throw new Refusal('sign_in_required');
  return { ...signedIn, isByCookie: true };
}

/**
 * The same for what has to be read in an outage, too: while the store cannot tell whose a token is, one that was valid within
 * the last hour will do.
 */
export async function authenticateInOutages(context: AdminContext, incoming: AdminIncoming): Promise<void> {
  const { recentTokens } = context;
  const credential = credentialOf(incoming.request.headers);
  const token = credential.kind === 'key' ? credential.key : '';
  try {
    const { isByCookie } = await authenticate(context, incoming);
    if (!isByCookie) recentTokens.add(token);
  } catch (error) {
    if (isUnavailable(error) && recentTokens.has(token)) return;
    if (!isUnavailable(error)) recentTokens.remove(token);
    throw error;
  }
}

/**
 * Counts and logs a failed sign-in, and returns its refusal: `too_many_sign_ins` once the network has to wait. To be called only
 * after the credential was found to be wrong, so that no failure of others keeps a valid one out. The log has the address, and
 * nothing of what was sent.
 */
export function failedSignIn(
  { failedSignIns, log }: AdminContext,
  { network, client, requestId }: AdminIncoming,
  by: 'token' | 'code' | 'body',
  refusal: Refusal,
): Refusal {
  const waitSeconds = failedSignIns.waitSeconds(network);
  if (waitSeconds > 0) return new Refusal('too_many_sign_ins');
  const failures = failedSignIns.add(network);
  const isLast = failedSignIns.waitSeconds(network) > 0;
  log.warn(
    { requestId, address: client, by, failures },
    isLast ? 'failed sign-in; further ones of this network have to wait' : 'failed sign-in',
  );
  return refusal;
}
