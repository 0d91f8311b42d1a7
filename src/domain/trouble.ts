/**
 * The parts that can fail while the service continues, in words for everyone. The reason is for the log only: messages of a
 * server or a disk may hold addresses, names and statements.
 */
export const troubles = {
  dataFile: 'The data file cannot be written. Requests that change anything return 503.',
  limitFile:
    'Rate-limit state cannot be saved. Limits are enforced; requests of new accounts may return 503.',
  postgres: 'PostgreSQL is degraded. Requests that need it may return 503.',
  redis: 'Redis is unavailable. Each instance enforces limits on its own.',
} as const;

export type Trouble = (typeof troubles)[keyof typeof troubles];

/** What clients and probes learn when an embedded store can count no request. */
export const limitsOverwritten =
  'Rate-limit state was overwritten. Requests are refused until the service is restarted.';
