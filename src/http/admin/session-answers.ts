import type { AdminInputOf } from '../../contract/admin/operations.ts';
import { resultOf } from '../../contract/operation.ts';
import { Refusal } from '../../contract/refusal.ts';
import { actorText } from '../../domain/actor.ts';
import { sessionShown } from '../../operations/sign-in/sessions.ts';
import type { Answer } from '../pipeline/answers.ts';
import { failedSignIn, sessionCookie, sessionSecretsOf } from './authentication.ts';
import type { AdminContext, AdminIncoming, AdminOperation } from './context.ts';

/** Exchanges a token or a code for a session, and ends the page's previous session. */
export async function signIn(
  context: AdminContext,
  incoming: AdminIncoming,
  operation: AdminOperation,
  { body }: AdminInputOf<'createSession'>,
): Promise<Answer> {
  const { sessions, site, log } = context;
  const { request, client, requestId } = incoming;
  try {
    const { secrets, signedIn, isStored } = await sessions.signIn(body);
    const former = sessionSecretsOf(request, site.isSecure);
    if (former !== undefined) await sessions.signOut(former);
    const fields = { requestId, address: client, operator: actorText(signedIn.actor) };
    log.info(
      fields,
      isStored ? 'signed in' : 'signed in; the session cannot be stored and ends with this process',
    );
    const shown = { ...sessionShown(signedIn), secret: secrets.inPage };
    const { status, body: text = null } = resultOf(operation, shown);
    const headers = { 'Set-Cookie': sessionCookie(request, site.isSecure, secrets.inCookie) };
    return { status, body: text, headers };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'sign_in_failed') throw error;
    throw failedSignIn(context, incoming, body.token === undefined ? 'code' : 'token', error);
  }
}

/**
 * Refuses a sign-in with an unreadable body. The attempt counts as a failed sign-in, because clients could otherwise
 * repeat it without limit.
 */
export function unreadableSignIn(context: AdminContext, incoming: AdminIncoming, error: unknown): unknown {
  return error instanceof Refusal ? failedSignIn(context, incoming, 'body', error) : error;
}

export async function signOut(
  { sessions, site }: AdminContext,
  { request }: AdminIncoming,
  operation: AdminOperation,
): Promise<Answer> {
  const secrets = sessionSecretsOf(request, site.isSecure);
  if (secrets !== undefined) await sessions.signOut(secrets);
  const { status } = resultOf(operation, undefined);
  return { status, body: null, headers: { 'Set-Cookie': sessionCookie(request, site.isSecure) } };
}
