import type { Concern } from '../../contract/admin/system.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Clock, dayMs, hourMs } from '../../domain/clock.ts';
import { formatBytes } from '../../domain/format-fact.ts';
import {
  damageRemedy,
  type FatalTrouble,
  fatalTroubles,
  type Trouble,
  troubles,
} from '../../domain/troubles.ts';
import type { Instance } from '../../tables/usage.ts';
import type { Store } from '../units.ts';
import type { TrafficSecond } from './traffic.ts';

/** A warning is shown if at least this number and this fraction of requests in the last minute got a 5xx response. */
const minFailures = 5;
const minFailureShare = 0.01;
const windowSeconds = 60;

/** An instance not seen for this long has either crashed or lost its connection. */
const missingAfterMs = 60_000;

const minFreeBytes = 2_147_483_648;

/** By this age, a delivery has either failed five times or never been attempted. */
const maxPendingAgeMs = 6 * hourMs;

/** If a deprecated operation is still called, a warning appears this long before its sunset date. */
const sunsetNearMs = 60 * dayMs;
const stillCalledMs = 7 * dayMs;

const backgroundRemedy = (section: string) =>
  `The log shows the reason, such as a lock or a missing permission in PostgreSQL: see "${section}" in docs/troubleshooting.md.`;

const remedies: Readonly<Record<Trouble | FatalTrouble, string>> = {
  [troubles.dataFile]: 'See the log for the reason, such as a full or failing disk, or missing permissions.',
  [troubles.storeFiles]:
    'The log names the file. Put the same file back, unless it was truncated. If you cannot, save the data before you stop the service: see "Lost store files" in docs/troubleshooting.md.',
  [troubles.dataDamaged]: `The log names the file; ${damageRemedy}.`,
  [troubles.limitFile]: 'See the log for the reason, such as a full or failing disk, or missing permissions.',
  [troubles.postgres]:
    'Check that PostgreSQL is running and reachable from this machine. The log shows its error message.',
  [troubles.clock]:
    'Synchronize the clocks of this machine and of the PostgreSQL server, for example with NTP.',
  [troubles.replica]:
    'Check that the servers in DATABASE_REPLICA_URLS are running, are reachable from this machine, and follow the primary. The log shows the reason.',
  [troubles.redis]:
    'Check that Redis is running and reachable from this machine. The log shows its error message.',
  [troubles.redisPart]:
    'Check the cluster node named in the log. If no replica takes over, restart that node.',
  [troubles.webhooks]: backgroundRemedy('Webhooks are not sent'),
  [troubles.events]: backgroundRemedy('New events cannot be read'),
  [troubles.usage]: backgroundRemedy('Usage is not recorded'),
  [troubles.sweeps]: backgroundRemedy('Old rows are not removed'),
  [fatalTroubles.limitsOverwritten]:
    'If the log reports lost files, save the data first: see "Lost store files" in docs/troubleshooting.md. Then restart the service, which resets the limits that cannot be read. Find the program that wrote to the file with the extension .limits, such as a backup or synchronization job: only the service may write to it.',
  [fatalTroubles.serversLost]:
    'Check that PostgreSQL and Redis are running and reachable from this machine. The log shows the error messages.',
  [fatalTroubles.otherRedis]:
    'Set REDIS_URL to the same server for all instances, and restart those that you changed. To move to another server, stop all instances first. The log names both servers.',
};

interface ConcernInput {
  readonly store: Pick<Store, 'facts' | 'usage'>;
  /** Descriptions of the current failures. */
  readonly troubles: readonly string[];
  readonly clock: Clock;
  readonly seconds: readonly TrafficSecond[];
  readonly sunsets: ReadonlyMap<OperationId, number>;
  readonly oldestPendingAgeMs: number;
  /** Warning about webhook secrets that cannot be decrypted. */
  readonly secrets: Concern | undefined;
  /** Reason why the log cannot be written. Present only in a serving process. */
  readonly outputTrouble?: string | undefined;
  /** Warning about failing or overdue backups. */
  readonly backups?: Concern | undefined;
}

/** Descriptions of the current failures. Available even if the store cannot be read. */
export function listTroubles(store: Pick<Store, 'health'>): readonly string[] {
  try {
    return store.health();
  } catch (error) {
    if (!(error instanceof ApiError) || !(error.cause instanceof Error)) throw error;
    return [error.cause.message];
  }
}

/** Current warnings, most severe first. `instances` excludes instances that were stopped cleanly. */
export async function findConcerns(
  known: ConcernInput,
  instances: readonly Instance[],
): Promise<readonly Concern[]> {
  const { store, clock, secrets, backups, troubles: found } = known;
  return [
    ...found.map(troubleConcern),
    ...failureConcerns(known),
    ...(secrets ? [secrets] : []),
    ...(await diskSpaceConcerns(store)),
    ...deliveryConcerns(known),
    ...(backups ? [backups] : []),
    ...outputConcerns(known),
    ...instances
      .filter(({ seenAt }) => Math.abs(clock.now() - seenAt) > missingAfterMs)
      .map(missingInstanceConcern),
    ...(await deprecationConcerns(known)),
  ];
}

function troubleConcern(what: string): Concern {
  const remedy = Object.entries(remedies).find(([trouble]) => trouble === what)?.[1];
  return { what, remedy: remedy ?? 'See the log for the reason. Most problems end without a restart.' };
}

function failureConcerns({ seconds, clock }: ConcernInput): Concern[] {
  const since = clock.now() / 1_000 - windowSeconds;
  const last = seconds.filter(({ at }) => at >= since);
  const failed = last.reduce((sum, second) => sum + second.failed, 0);
  const all = last.reduce((sum, { ok, refused, limited }) => sum + ok + refused + limited, failed);
  if (failed < minFailures || failed < all * minFailureShare) return [];
  return [
    {
      what: `${failed} of ${all} requests in the last minute got 5xx responses.`,
      remedy: 'See the log: it contains one line per internal error, and two per store outage.',
    },
  ];
}

async function diskSpaceConcerns(store: ConcernInput['store']): Promise<Concern[]> {
  const { freeBytes } = await store.facts();
  if (typeof freeBytes !== 'number' || freeBytes >= minFreeBytes) return [];
  return [
    {
      what: `The disk that holds the data file has ${formatBytes(freeBytes)} left.`,
      remedy: 'Free up space or enlarge the disk. When it is full, changes return 503.',
    },
  ];
}

function outputConcerns({ outputTrouble: reason }: ConcernInput): Concern[] {
  if (reason === undefined) return [];
  return [
    {
      what: `The log cannot be written: ${reason}.`,
      remedy:
        'Free space on the disk of the log, or restart the program that reads it. Requests are not affected. The metric animal_store_log_lines_lost_total counts lost lines.',
    },
  ];
}

function deliveryConcerns({ oldestPendingAgeMs }: ConcernInput): Concern[] {
  if (oldestPendingAgeMs < maxPendingAgeMs) return [];
  const hours = Math.floor(oldestPendingAgeMs / hourMs);
  return [
    {
      what: `The oldest pending delivery to an enabled webhook is ${hours} hours old.`,
      remedy:
        'Find webhooks with failed attempts, then notify their accounts or disable the webhooks. If there are no attempts, check whether the webhook is on hold because its account has no active key that may read the events, and check WEBHOOKS and SECRETS_KEY.',
    },
  ];
}

function missingInstanceConcern({ name, seenAt }: Instance): Concern {
  const at = new Date(seenAt).toISOString();
  return {
    what: `Instance ${name} was last seen at ${at}. It was killed, or cannot write to the store.`,
    remedy: 'Check its machine and log. An instance that does not return is removed after a day.',
  };
}

async function deprecationConcerns({ store, clock, sunsets }: ConcernInput): Promise<Concern[]> {
  const now = clock.now();
  const soon = [...sunsets].filter(([, at]) => at > now && at - now <= sunsetNearMs);
  if (soon.length === 0) return [];
  const range = { since: now - stillCalledMs, until: now + 1 };
  const [caller] = await store.usage.topKeys('deprecated', range, 1);
  if (caller === undefined) return [];
  return soon.map(([operation, at]) => ({
    what: `Deprecated operations were called in the last 7 days. ${operation} will be removed on ${new Date(at).toISOString().slice(0, 10)}.`,
    remedy:
      'Notify the callers listed under "Deprecated operations" on the usage page, or set a later date (GET_PET_SUNSET).',
  }));
}
