/** Signing in and out. */

import { effect, signal } from '@preact/signals';
import { call, Failure } from './api.ts';
import { readAgain, timesHealed } from './connection.ts';
import type { InputOf, Session } from './contract.ts';
import { asFailure } from './loaded.ts';
import { goTo } from './router.ts';
import { forgetSecret, keepSecret, shareSecret } from './session-secret.ts';
import { hasEnded, session } from './session-state.ts';

type Credentials = InputOf<'POST /session'>['body'];

/** Why a console link did not work; undefined when none was followed, or it did. */
export const linkFailure = signal<string | undefined>(undefined);

/** Why it could not be found out who is signed in: the service answers, but cannot say. */
export const sessionFailure = signal<Failure | undefined>(undefined);

const lookAgainMs = 2_000;

/** Trades the code of a console link for a session, or finds the one there is. Throws a `Failure` where that is not known. */
async function findSession(): Promise<void> {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    // Before anything else: the address bar, the history and whoever looks on must not keep it.
    goTo('/', { replace: true });
    await signIn({ code }).catch((error: unknown) => {
      linkFailure.value = error instanceof Failure ? error.message : String(error);
    });
    if (session.value) return;
  }
  try {
    begin(await call('GET /session'));
  } catch (error) {
    // A 401 has said that nobody is; anything else says nothing of it.
    if (session.peek() !== undefined) throw error;
  }
}

async function look(): Promise<void> {
  try {
    await findSession();
    sessionFailure.value = undefined;
  } catch (error) {
    const failure = asFailure(error);
    // A lost connection says so by itself, and is looked for elsewhere.
    if (failure.code === 'connection_lost') return;
    sessionFailure.value = failure;
    setTimeout(look, lookAgainMs);
  }
}

/** Finds out who is signed in; where the service cannot be reached or cannot say, again when it can. */
export function watchSession(): void {
  shareSecret(() => {
    if (!session.peek() || hasEnded.peek()) void look();
  });
  effect(() => {
    if (timesHealed.value >= 0 && session.peek() === null) void look();
  });
}

export async function signIn(credentials: Credentials): Promise<void> {
  const { secret, ...found } = await call('POST /session', { body: credentials });
  keepSecret(secret);
  linkFailure.value = undefined;
  begin(found);
}

function begin(found: Session): void {
  session.value = found;
  if (!hasEnded.peek()) return;
  hasEnded.value = false;
  readAgain();
}

export async function signOut(): Promise<void> {
  await call('DELETE /session');
  forgetSecret();
  hasEnded.value = false;
  goTo('/', { replace: true });
  session.value = undefined;
}
