/**
 * What of the service can fail while it goes on, as anybody may be told. Why it failed is for the log: the words of a
 * server or a disk may hold addresses, names and statements.
 */
export const troubles = {
  dataFile: 'The data file cannot be written: creations are answered 503.',
  limitFile: 'Limits are not being saved: they are counted in memory.',
  postgres: 'PostgreSQL does not work as it should: what needs it may be answered 503.',
  redis: 'Redis does not work: each instance counts limits alone.',
} as const;

export type Trouble = (typeof troubles)[keyof typeof troubles];
