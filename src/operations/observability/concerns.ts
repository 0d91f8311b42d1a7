import type { Concern } from '../../contract/admin/system.ts';
import type { OperationId } from '../../contract/operations.ts';
import { Refusal } from '../../contract/refusal.ts';
import { type Clock, dayMs, hourMs } from '../../domain/clock.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { Instance } from '../../tables/usage.ts';
import type { Store } from '../units.ts';
import type { TrafficSecond } from './traffic.ts';

export type { Concern };

/** Requests answered 5xx in the last minute that are a concern: at least this number, and this part of all. */
const manyFailures = 5;
const highShare = 0.01;
const lookBackSeconds = 60;

/** An instance not seen for this long has crashed or lost its connection. */
const missingAfterMs = 60_000;

const littleBytes = 2_147_483_648;

/** By then, a receiver has failed five times, or nothing is sent. */
const oldDeliveryMs = 6 * hourMs;

/** From so long before its end on it is of interest who calls a deprecated operation. */
const sunsetNearMs = 60 * dayMs;
const stillCalledMs = 7 * dayMs;

const remedies: Readonly<Record<Trouble, string>> = {
  [troubles.dataFile]: 'Look into the log for the reason: a full or failing disk, or missing permissions.',
  [troubles.limitFile]: 'Look into the log for the reason: a full or failing disk, or missing permissions.',
  [troubles.postgres]:
    'Check that PostgreSQL runs and can be reached from this machine; the log has its words.',
  [troubles.redis]: 'Check that Redis runs and can be reached from this machine; the log has its words.',
};

export interface Known {
  readonly store: Pick<Store, 'health' | 'facts' | 'usage'>;
  readonly clock: Clock;
  readonly seconds: readonly TrafficSecond[];
  readonly sunsets: ReadonlyMap<OperationId, number>;
  readonly oldestPendingAgeMs: number;
}

/** What does not work. The store may not even be able to say so. */
export function troublesOf(store: Pick<Store, 'health'>): readonly string[] {
  try {
    return store.health();
  } catch (error) {
    if (!(error instanceof Refusal) || !(error.cause instanceof Error)) throw error;
    return [error.cause.message];
  }
}

export async function concernsOf(known: Known, instances: readonly Instance[]): Promise<readonly Concern[]> {
  const { store, clock } = known;
  return [
    ...troublesOf(store).map(troubleConcern),
    ...failures(known),
    ...(await littleSpace(store)),
    ...oldDeliveries(known),
    ...instances.filter(({ seenAt }) => clock.now() - seenAt > missingAfterMs).map(missing),
    ...(await deprecatedStillCalled(known)),
  ];
}

function troubleConcern(what: string): Concern {
  const remedy = Object.entries(remedies).find(([trouble]) => trouble === what)?.[1];
  return { what, remedy: remedy ?? 'Look into the log for the reason. Recovery needs no restart.' };
}

function failures({ seconds, clock }: Known): Concern[] {
  const since = clock.now() / 1_000 - lookBackSeconds;
  const last = seconds.filter(({ at }) => at >= since);
  const failed = last.reduce((sum, second) => sum + second.failed, 0);
  const all = last.reduce((sum, { ok, refused, limited }) => sum + ok + refused + limited, failed);
  if (failed < manyFailures || failed < all * highShare) return [];
  return [
    {
      what: `${failed} of ${all} requests in the last minute were answered with 5xx.`,
      remedy: 'Look into the log: each internal error has a line, and each outage of the store two.',
    },
  ];
}

async function littleSpace(store: Known['store']): Promise<Concern[]> {
  const { freeBytes } = await store.facts();
  if (typeof freeBytes !== 'number' || freeBytes >= littleBytes) return [];
  const gib = (freeBytes / 1_073_741_824).toFixed(1);
  return [
    {
      what: `The disk of the data file has ${gib} GiB left.`,
      remedy: 'Make room or enlarge the disk. When it is full, requests that change anything return 503.',
    },
  ];
}

function oldDeliveries({ oldestPendingAgeMs }: Known): Concern[] {
  if (oldestPendingAgeMs < oldDeliveryMs) return [];
  const hours = Math.floor(oldestPendingAgeMs / hourMs);
  return [
    {
      what: `The oldest pending delivery to an enabled webhook is ${hours} hours old.`,
      remedy:
        'Look for webhooks whose deliveries have failed attempts: their accounts should know, or disable them. If no attempts are made, check WEBHOOKS and SECRETS_KEY.',
    },
  ];
}

function missing({ name, seenAt }: Instance): Concern {
  const at = new Date(seenAt).toISOString();
  return {
    what: `Instance ${name} was last seen at ${at}, and was not stopped in good order.`,
    remedy: 'Check its machine and its log. An instance that is gone for good is forgotten after a day.',
  };
}

async function deprecatedStillCalled({ store, clock, sunsets }: Known): Promise<Concern[]> {
  const now = clock.now();
  const near = [...sunsets].filter(([, at]) => at > now && at - now <= sunsetNearMs);
  if (near.length === 0) return [];
  const range = { since: now - stillCalledMs, until: now + 1 };
  const [caller] = await store.usage.topKeys('deprecated', range, 1);
  if (caller === undefined) return [];
  return near.map(([operation, at]) => ({
    what: `Deprecated operations were called in the last 7 days, and ${operation} goes on ${new Date(at).toISOString().slice(0, 10)}.`,
    remedy: 'See under deprecated callers who it is, and tell them; or set a later date (GET_PET_SUNSET).',
  }));
}
