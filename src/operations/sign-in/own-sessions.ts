/** An operator's own sessions. Only that operator can list and end them. */
import type { OwnSession, sessionOperations } from '../../contract/admin/sessions.ts';
import { Refusal } from '../../contract/refusal.ts';
import { actorText } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import { eventLoopTick } from '../../domain/event-loop.ts';
import type { Session } from '../../tables/operators.ts';
import type { Asking, HandlersOf } from '../admin/handlers.ts';
import { iso } from '../shown.ts';
import type { Store } from '../units.ts';
import { idleMs, sessionMs } from './sessions.ts';

interface Services {
  readonly store: Pick<Store, 'sessions' | 'write'>;
  readonly clock: Clock;
}

/** Maximum number of sessions read. An operator has far fewer, because sessions end within hours. */
const atOnce = 1_000;

async function ownSessions({ store, clock }: Services, { actor }: Pick<Asking, 'actor'>): Promise<Session[]> {
  const now = clock.now();
  const isOwn = (session: Session) =>
    session.actor === actorText(actor) && now < session.expiresAt && now < session.usedAt + idleMs;
  const own: Session[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.sessions.list(after, atOnce);
    own.push(...page.filter(isOwn));
    if (page.length < atOnce) return own;
    after = page.at(-1)?.fingerprint;
    await eventLoopTick();
  }
}

/** A number that identifies a session but is useless without its secrets: the first 48 bits of its fingerprint. */
const idOf = ({ fingerprint }: Pick<Session, 'fingerprint'>) =>
  Math.max(1, Number.parseInt(fingerprint.slice(0, 12), 16));

function shown(session: Session, asking: Asking): OwnSession {
  const { expiresAt, usedAt, fingerprint } = session;
  return {
    id: idOf(session),
    startedAt: iso(expiresAt - sessionMs),
    usedAt: iso(usedAt),
    expiresAt: iso(expiresAt),
    isCurrent: fingerprint === asking.sessionFingerprint,
  };
}

export const ownSessionHandlers: HandlersOf<
  Services,
  Pick<typeof sessionOperations, 'listSessions' | 'endSession'>
> = {
  listSessions: async (services, _input, asking) => {
    const own = await ownSessions(services, asking);
    return own.toSorted((one, other) => other.usedAt - one.usedAt).map((session) => shown(session, asking));
  },
  endSession: async (services, { params: { sessionId } }, asking) => {
    const own = await ownSessions(services, asking);
    const session = own.find((one) => BigInt(idOf(one)) === sessionId);
    if (session === undefined) throw new Refusal('session_not_found');
    await services.store.write('removeSession', session.fingerprint);
  },
};
