import { LRUCache } from 'lru-cache';
import type {
  OwnSession,
  Session as SessionView,
  SignIn,
  sessionOperations,
} from '../../contract/admin/sessions.ts';
import { ApiError } from '../../contract/api-error.ts';
import { type Actor, formatActor, parseActor } from '../../domain/actor.ts';
import { type Clock, hourMs, minuteMs, toSystemTime } from '../../domain/clock.ts';
import { computeFingerprint, generateKey, isWellFormedKey, type RandomBytes } from '../../domain/key.ts';
import { maxEntries } from '../../domain/max-entries.ts';
import type { UnitInput } from '../../storage/transaction.ts';
import type { Session } from '../../tables/operators.ts';
import type { HandlerContext, HandlersOf, SignedIn } from '../admin/handlers.ts';
import { isUnavailable } from '../errors.ts';
import { toIso, toIsoOrNull } from '../presenters.ts';
import { readInBatches } from '../read-in-batches.ts';
import type { sessionUnits } from '../units/operators.ts';
import type { Store } from '../units.ts';
import type { OneTimeCode } from './one-time-code.ts';

export const sessionLifetimeMs = 12 * hourMs;
const idleTimeoutMs = hourMs;
const recordUseIntervalMs = minuteMs;
/** Maximum number of sessions kept only in memory. If exceeded, the least recently used sessions are dropped. */
const maxUnstored = 1_000;

interface UnstoredSession extends Session {
  /** SHA-256 of the operator's token; undefined for a one-time code. The session ends when the token does. */
  readonly tokenFingerprint: string | undefined;
}

/** The two secrets of a session. Neither is sufficient alone. */
export interface SessionSecrets {
  /** The cookie's secret, which browsers send to every port of the host. */
  readonly inCookie: string;
  readonly inPage: string;
}

/** A new session with its secrets, which are not stored in clear text. */
interface NewSession {
  readonly secrets: SessionSecrets;
  /** False if the store could not be written to; this process then keeps the session in memory. */
  readonly isStored: boolean;
  readonly signedIn: SignedIn;
}

interface SessionsOptions {
  readonly store: Pick<Store, 'operators' | 'sessions' | 'write'>;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly code: OneTimeCode;
  readonly codeActor: Actor;
}

/** Sign-ins and sessions. The store contains a single SHA-256 of both secrets of a session. */
export class SessionOperations {
  readonly #options: SessionsOptions;
  /** Sessions that could not be stored, for example because the disk is full. Kept until this process stops. */
  readonly #unstoredSessions = new LRUCache<string, UnstoredSession>(maxEntries(maxUnstored));
  /** Ended sessions that could not be removed from the store. */
  readonly #endedSessions = new LRUCache<string, true>(maxEntries(maxUnstored));

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  async byToken(token: string): Promise<SignedIn | undefined> {
    const operator = await this.#operatorOf(token);
    return operator && { actor: toActor(operator.name), role: operator.role, expiresAt: undefined };
  }

  /** The operator signed in with these secrets; undefined if there is no such session or it has ended. */
  async bySecrets(secrets: SessionSecrets): Promise<SignedIn | undefined> {
    const id = parseSessionId(secrets);
    if (id === undefined) return undefined;
    const unstored = this.#unstoredSessions.get(id);
    const session = unstored ?? (await this.#options.store.sessions.find(id));
    const now = this.#options.clock.storeTime();
    if (session === undefined || now >= session.expiresAt || now >= session.usedAt + idleTimeoutMs)
      return undefined;
    if (unstored === undefined) {
      if (await this.#hasEnded(session)) return undefined;
      if (now >= session.usedAt + recordUseIntervalMs)
        await this.#written('useSession', { fingerprint: session.fingerprint, at: now });
    } else {
      const { tokenFingerprint: token } = unstored;
      if (token !== undefined && (await this.#options.store.operators.findBy('token', token)) === undefined)
        return undefined;
      this.#unstoredSessions.set(id, { ...unstored, usedAt: now });
    }
    const { actor, role } = session;
    const expiresAt = toSystemTime(this.#options.clock, session.expiresAt);
    return { actor: parseActor(actor), role, expiresAt, sessionFingerprint: id };
  }

  /** Starts a session with new secrets, even if the store cannot be written to. Throws `sign_in_failed`. */
  async signIn({ token, code }: SignIn): Promise<NewSession> {
    const { clock } = this.#options;
    const now = clock.storeTime();
    const who = token === undefined ? this.#byCode(code ?? '') : await this.#operatorOf(token);
    if (who === undefined) throw new ApiError('sign_in_failed');
    const actor = who.id === undefined ? this.#options.codeActor : toActor(who.name);
    const secrets: SessionSecrets = {
      inCookie: generateKey(this.#options.randomBytes, 'session'),
      inPage: generateKey(this.#options.randomBytes, 'page'),
    };
    const session: Session = {
      fingerprint: sessionFingerprint(secrets),
      operatorId: who.id,
      actor: formatActor(actor),
      role: who.role,
      usedAt: now,
      expiresAt: now + sessionLifetimeMs,
    };
    const isStored = await this.#written('addSession', {
      session,
      idleMs: idleTimeoutMs,
      lastFour: who.lastFour,
    });
    const tokenFingerprint = token && computeFingerprint(token);
    if (!isStored) this.#unstoredSessions.set(session.fingerprint, { ...session, tokenFingerprint });
    return {
      secrets,
      isStored,
      signedIn: { actor, role: who.role, expiresAt: toSystemTime(clock, session.expiresAt) },
    };
  }

  async signOut(secrets: SessionSecrets): Promise<void> {
    const id = parseSessionId(secrets);
    if (id === undefined || this.#unstoredSessions.delete(id)) return;
    if (!(await this.#written('removeSession', id))) this.#endedSessions.set(id, true);
  }

  async #operatorOf(token: string) {
    return isWellFormedKey(token, 'token')
      ? this.#options.store.operators.findBy('token', computeFingerprint(token))
      : undefined;
  }

  #byCode(code: string) {
    const role = 'admin' as const;
    return this.#options.code.redeem(code)
      ? { id: undefined, name: '', role, lastFour: undefined }
      : undefined;
  }

  /**
   * Whether the session has ended. This checks the operator as well, because revoking an operator removes its sessions
   * but misses a session that is being added concurrently.
   */
  async #hasEnded({ fingerprint, operatorId }: Session): Promise<boolean> {
    if (this.#endedSessions.has(fingerprint)) return true;
    if (operatorId === undefined) return false;
    const operator = await this.#options.store.operators.find(operatorId);
    return operator?.revokedAt !== null;
  }

  /** Returns whether the write succeeded. Operators can sign in even if the store is not writable. */
  async #written<Name extends keyof typeof sessionUnits>(
    name: Name,
    input: UnitInput<(typeof sessionUnits)[Name]>,
  ): Promise<boolean> {
    try {
      await this.#options.store.write(name, input);
      return true;
    } catch (error) {
      if (isUnavailable(error)) return false;
      throw error;
    }
  }
}

export function sessionFingerprint({ inCookie, inPage }: SessionSecrets): string {
  return computeFingerprint(inCookie + inPage);
}

/** The session's id; undefined if the secrets are malformed. */
function parseSessionId(secrets: SessionSecrets): string | undefined {
  const { inCookie, inPage } = secrets;
  const isWellFormed = isWellFormedKey(inCookie, 'session') && isWellFormedKey(inPage, 'page');
  return isWellFormed ? sessionFingerprint(secrets) : undefined;
}

function toActor(name: string): Actor {
  return { kind: 'operator', name };
}

export function presentSession({ actor, role, expiresAt }: SignedIn): SessionView {
  return {
    operator: formatActor(actor),
    role,
    expiresAt: toIsoOrNull(expiresAt ?? null),
  };
}

interface Services {
  readonly store: Pick<Store, 'sessions' | 'write'>;
  readonly clock: Clock;
}

/** Maximum number of sessions read. An operator has far fewer, because sessions end within hours. */
const batchSize = 1_000;

async function listOwnSessions(
  { store, clock }: Services,
  { actor }: Pick<HandlerContext, 'actor'>,
): Promise<Session[]> {
  const now = clock.storeTime();
  const isOwn = (session: Session) =>
    session.actor === formatActor(actor) && now < session.expiresAt && now < session.usedAt + idleTimeoutMs;
  const own: Session[] = [];
  const read = (last?: Session) => store.sessions.list(last?.fingerprint, batchSize);
  for await (const page of readInBatches(batchSize, read)) own.push(...page.filter(isOwn));
  return own;
}

/** A number that identifies a session but is useless without its secrets: the first 48 bits of its fingerprint. */
const publicSessionId = ({ fingerprint }: Pick<Session, 'fingerprint'>) =>
  Math.max(1, Number.parseInt(fingerprint.slice(0, 12), 16));

function presentOwnSession(session: Session, context: HandlerContext, clock: Clock): OwnSession {
  const { fingerprint } = session;
  const expiresAt = toSystemTime(clock, session.expiresAt);
  return {
    id: publicSessionId(session),
    startedAt: toIso(expiresAt - sessionLifetimeMs),
    usedAt: toIso(toSystemTime(clock, session.usedAt)),
    expiresAt: toIso(expiresAt),
    isCurrent: fingerprint === context.sessionFingerprint,
  };
}

export const sessionHandlers: HandlersOf<
  Services,
  Omit<typeof sessionOperations, 'createSession' | 'deleteSession'>
> = {
  getSession: (_services, _input, context) => presentSession(context),
  listSessions: async (services, _input, context) => {
    const own = await listOwnSessions(services, context);
    return own
      .toSorted((one, other) => other.usedAt - one.usedAt)
      .map((session) => presentOwnSession(session, context, services.clock));
  },
  endSession: async (services, { params: { sessionId } }, context) => {
    const own = await listOwnSessions(services, context);
    const session = own.find((one) => BigInt(publicSessionId(one)) === sessionId);
    if (session === undefined) throw new ApiError('session_not_found');
    await services.store.write('removeSession', session.fingerprint);
  },
};
