/**
 * Public descriptions of parts that can fail while the service continues. Reasons are only logged, because
 * messages of servers and disks may contain addresses, names and statements.
 */
export const troubles = {
  dataFile: 'The data file cannot be written. Changes return 503.',
  limitFile:
    'Rate-limit state cannot be saved. Limits are enforced; requests of new accounts may return 503.',
  postgres: 'PostgreSQL is degraded. Requests that need it may return 503.',
  replica: 'A read replica is not used. The primary and other replicas answer its reads.',
  redis: 'Redis is unavailable. Each instance enforces limits separately.',
  redisPart:
    'A part of Redis Cluster is unavailable. Each instance enforces the limits of its accounts separately.',
} as const;

export type Trouble = (typeof troubles)[keyof typeof troubles];

/** Public description of an embedded store that cannot count requests. */
export const limitsOverwritten =
  'Rate-limit state was overwritten. Requests are rejected until the service is restarted.';
