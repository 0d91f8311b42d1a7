import type { SignIn } from '../contract/admin/sessions.ts';
import { type Actor, actorOf, actorText } from '../domain/actor.ts';
import type { Clock } from '../domain/clock.ts';
import { fingerprint, isWellFormedKey, makeKey, type RandomBytes } from '../domain/key.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Session } from '../storage/admin.ts';
import type { InputOf } from '../storage/transaction.ts';
import type { SignedIn } from './admin/handlers.ts';
import { isUnavailable } from './if-available.ts';
import type { OneTimeCode } from './one-time-code.ts';
import type { sessionUnits } from './units/operators.ts';
import type { Store } from './units.ts';
import { UnstoredSessions } from './unstored-sessions.ts';

/** A session ends after this long, however much it is used. */
export const sessionMs = 43_200_000;
/** And when it was not used for this long. */
const idleMs = 3_600_000;
/** How often at most its use is written down. */
const noteUseEveryMs = 60_000;

/** What authenticates a session: both, neither alone. */
export interface SessionSecrets {
  /** Sent by the browser, to every port of the host. */
  readonly inCookie: string;
  /** Sent by the page. */
  readonly inPage: string;
}

/** A session that has just begun: the only time its secrets are known. */
export interface NewSession {
  readonly secrets: SessionSecrets;
  /** False while the store cannot be written: this process remembers the session until it stops. */
  readonly isStored: boolean;
  readonly signedIn: SignedIn;
}

export interface SessionsOptions {
  readonly store: Pick<Store, 'operators' | 'sessions' | 'write'>;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly code: OneTimeCode;
  /** In whose name somebody acts who came by the one-time code. */
  readonly codeActor: Actor;
}

/** Sign-ins and sessions. The store keeps one SHA-256 over both secrets of a session. */
export class SessionOperations {
  readonly #store: SessionsOptions['store'];
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #code: OneTimeCode;
  readonly #codeActor: Actor;
  readonly #unstored = new UnstoredSessions();

  constructor({ store, clock, randomBytes, code, codeActor }: SessionsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#randomBytes = randomBytes;
    this.#code = code;
    this.#codeActor = codeActor;
  }

  /** Whose token this is; undefined for nobody's. */
  async byToken(token: string): Promise<SignedIn | undefined> {
    const operator = await this.#operatorOf(token);
    return operator && { actor: operatorActor(operator.name), role: operator.role, expiresAt: undefined };
  }

  /** The operator whose session has these secrets; undefined when there is none, or it has ended. */
  async bySecrets(secrets: SessionSecrets): Promise<SignedIn | undefined> {
    const id = idOf(secrets);
    if (id === undefined) return undefined;
    const unstored = this.#unstored.find(id);
    const session = unstored ?? (await this.#store.sessions.find(id));
    const now = this.#clock.now();
    if (session === undefined || now >= session.expiresAt || now >= session.usedAt + idleMs) return undefined;
    if (unstored === undefined) {
      if (await this.#hasEnded(session)) return undefined;
      if (now >= session.usedAt + noteUseEveryMs) await this.#noteUse(session.fingerprint, now);
    } else {
      const { tokenFingerprint: token } = unstored;
      if (token !== undefined && (await this.#store.operators.findByToken(token)) === undefined)
        return undefined;
      this.#unstored.add({ ...unstored, usedAt: now });
    }
    return { actor: actorOf(session.actor), role: session.role, expiresAt: session.expiresAt };
  }

  /** Begins a session with new secrets, also while the store cannot be written. Refuses `sign_in_failed`. */
  async signIn({ token, code }: SignIn): Promise<NewSession> {
    const now = this.#clock.now();
    const who = token === undefined ? this.#byCode(code ?? '') : await this.#operatorOf(token);
    if (who === undefined) throw new Refusal('sign_in_failed');
    const actor = who.id === undefined ? this.#codeActor : operatorActor(who.name);
    const secrets: SessionSecrets = {
      inCookie: makeKey(this.#randomBytes, 'session'),
      inPage: makeKey(this.#randomBytes, 'page'),
    };
    const session: Session = {
      fingerprint: fingerprintOf(secrets),
      operatorId: who.id,
      actor: actorText(actor),
      role: who.role,
      usedAt: now,
      expiresAt: now + sessionMs,
    };
    const isStored = await this.#written('addSession', { session, idleMs, lastFour: who.lastFour });
    const tokenFingerprint = token && fingerprint(token);
    if (!isStored) this.#unstored.add({ ...session, tokenFingerprint });
    return { secrets, isStored, signedIn: { actor, role: who.role, expiresAt: session.expiresAt } };
  }

  /** Ends the session with these secrets, if there is one. */
  async signOut(secrets: SessionSecrets): Promise<void> {
    const id = idOf(secrets);
    if (id === undefined || this.#unstored.remove(id)) return;
    if (!(await this.#written('removeSession', id))) this.#unstored.end(id);
  }

  async #operatorOf(token: string) {
    return isWellFormedKey(token, 'token')
      ? this.#store.operators.findByToken(fingerprint(token))
      : undefined;
  }

  #byCode(code: string) {
    const role = 'admin' as const;
    return this.#code.redeem(code) ? { id: undefined, name: '', role, lastFour: undefined } : undefined;
  }

  /** The transaction that revokes an operator removes the operator's sessions, but not one that is added at that moment. */
  async #hasEnded({ fingerprint, operatorId }: Session): Promise<boolean> {
    if (this.#unstored.hasEnded(fingerprint)) return true;
    if (operatorId === undefined) return false;
    const operator = await this.#store.operators.find(operatorId);
    return operator?.revokedAt !== null;
  }

  async #noteUse(fingerprint: string, at: number): Promise<void> {
    await this.#written('useSession', { fingerprint, at });
  }

  /** Whether it was written: a store that cannot be written does not keep operators out. */
  async #written<Name extends keyof typeof sessionUnits>(
    name: Name,
    input: InputOf<(typeof sessionUnits)[Name]>,
  ): Promise<boolean> {
    try {
      await this.#store.write(name, input);
      return true;
    } catch (error) {
      if (isUnavailable(error)) return false;
      throw error;
    }
  }
}

/** What a session is stored under. */
export function fingerprintOf({ inCookie, inPage }: SessionSecrets): string {
  return fingerprint(inCookie + inPage);
}

/** The same; undefined for what is no secret of a session. */
function idOf(secrets: SessionSecrets): string | undefined {
  const { inCookie, inPage } = secrets;
  const isWellFormed = isWellFormedKey(inCookie, 'session') && isWellFormedKey(inPage, 'page');
  return isWellFormed ? fingerprintOf(secrets) : undefined;
}

function operatorActor(name: string): Actor {
  return { kind: 'operator', name };
}
