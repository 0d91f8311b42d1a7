/**
 * Public descriptions of failures that the service survives. The reasons are only logged, because error messages from
 * servers and disks may contain addresses, names and statements.
 */
export const troubles = {
  dataFile: 'The data file cannot be written. Changes return 503.',
  storeFiles:
    'A file of the store was deleted, moved, replaced or truncated while it was in use. Changes return 503.',
  dataDamaged: 'The data file is damaged. Requests that need the damaged part return 503.',
  limitFile:
    'Rate-limit state cannot be saved. Limits are enforced; requests from new accounts may return 503.',
  postgres: 'PostgreSQL is degraded. Requests that need it may return 503.',
  clock:
    "The clock of this machine differs from the PostgreSQL server's clock by more than 5 seconds. The server's clock is used.",
  replica: 'A read replica is not in use. The primary and other replicas serve its reads.',
  redis: 'Redis is unavailable. Each instance enforces limits separately.',
  redisPart:
    'Part of the Redis Cluster is unavailable. Each instance enforces the limits of the affected accounts separately.',
  webhooks: 'Webhooks are not sent. Events are kept and sent later.',
  events: 'New events cannot be read. Streams and waiting requests receive them later.',
  usage: 'Usage is not recorded. It is kept in memory and recorded later.',
  sweeps: 'Old rows are not removed. The store grows.',
} as const;

export type Trouble = (typeof troubles)[keyof typeof troubles];

/** Failures during which no request is served. */
export const fatalTroubles = {
  /** Reported only by embedded stores. */
  limitsOverwritten:
    'Rate-limit state was overwritten. Requests are rejected. See the log before you restart.',
  /** Reported only with Redis. */
  serversLost: 'PostgreSQL and Redis are unavailable. Requests are rejected until either is back.',
  /** Reported only with Redis. */
  otherRedis:
    'This instance uses a different Redis than other instances. Requests are rejected. Set the same REDIS_URL for all.',
} as const;

export type FatalTrouble = (typeof fatalTroubles)[keyof typeof fatalTroubles];

/** Each part of the store, and whether it is among the failures described by `found`. */
export function partFailures(found: readonly string[]): (readonly [part: string, hasFailed: boolean])[] {
  const areServersLost = found.includes(fatalTroubles.serversLost);
  const described = areServersLost ? [...found, troubles.postgres, troubles.redis] : found;
  return Object.entries({ ...troubles, ...fatalTroubles }).map(([part, text]) => [
    part,
    described.includes(text),
  ]);
}

/** Advice for a store whose data file is damaged. What can be read may be more than the latest backup contains. */
export const damageRemedy =
  'to save what can be read and restore a backup, see "The data file is damaged" in docs/troubleshooting.md';

export function damageMessage(path: string, reason: string): string {
  return `the data file ${path} is damaged (${reason}): ${damageRemedy}`;
}
