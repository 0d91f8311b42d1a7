/** Signs operators in and out. */

import { effect, signal } from '@preact/signals';
import { call, Failure } from './api.ts';
import { reloadAll, reloadCount } from './connection.ts';
import type { InputOf, Session } from './contract.ts';
import { goTo } from './router.ts';
import { removeSecret, shareSecret, storeSecret } from './session-secret.ts';
import { hasSessionEnded, session } from './session-state.ts';
import { toFailure } from './use-loaded.ts';

type Credentials = InputOf<'POST /session'>['body'];

/** Why signing in with a console link failed; undefined if it succeeded or no link was used. */
export const linkFailure = signal<string | undefined>(undefined);

/** Error of the last attempt to load the session, except a lost connection; undefined if the attempt succeeded. */
export const sessionFailure = signal<Failure | undefined>(undefined);

const lookAgainMs = 2_000;

/**
 * Exchanges the code of a console link for a session, or loads the current session. Throws a `Failure` if it cannot
 * determine whether there is a session.
 */
async function findSession(): Promise<void> {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    // First, remove the code from the address bar and the history.
    goTo('/', { replace: true });
    await signIn({ code }).catch((error: unknown) => {
      linkFailure.value = error instanceof Failure ? error.message : String(error);
    });
    if (session.value) return;
  }
  try {
    begin(await call('GET /session'));
  } catch (error) {
    // A 401 has already set the session to undefined. After any other error, the session is unknown.
    if (session.peek() !== undefined) throw error;
  }
}

async function look(): Promise<void> {
  try {
    await findSession();
    sessionFailure.value = undefined;
  } catch (error) {
    const failure = toFailure(error);
    // The connection bar reports a lost connection, and `watchSession` retries after the reconnect.
    if (failure.code === 'connection_lost') return;
    sessionFailure.value = failure;
    setTimeout(look, lookAgainMs);
  }
}

/** Loads the current session, and retries while the service is unreachable or responds with errors. */
export function watchSession(): void {
  shareSecret(() => {
    if (!session.peek() || hasSessionEnded.peek()) void look();
  });
  effect(() => {
    if (reloadCount.value >= 0 && session.peek() === null) void look();
  });
}

export async function signIn(credentials: Credentials): Promise<void> {
  const { secret, ...found } = await call('POST /session', { body: credentials });
  storeSecret(secret);
  linkFailure.value = undefined;
  begin(found);
}

function begin(found: Session): void {
  session.value = found;
  if (!hasSessionEnded.peek()) return;
  hasSessionEnded.value = false;
  reloadAll();
}

export async function signOut(): Promise<void> {
  await call('DELETE /session');
  removeSecret();
  hasSessionEnded.value = false;
  goTo('/', { replace: true });
  session.value = undefined;
}
