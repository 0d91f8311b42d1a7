import { integer, type RowOf, table, text } from './table.ts';

const keyCounts = {
  keyId: integer,
  accountId: integer,
  ok: integer,
  refused: integer,
  limited: integer,
  failed: integer,
  deprecated: integer,
  lastUsedAt: integer,
} as const;

export const usageByMinute = table(
  'usage_minutes',
  { minute: integer, operation: text, code: text, requests: integer },
  { key: ['minute', 'operation', 'code'] },
);

/** Requests per hour, retained as long as the latency history. */
export const operationUsageByHour = table(
  'usage_operation_hours',
  { hour: integer, operation: text, code: text, requests: integer },
  { key: ['hour', 'operation', 'code'] },
);

/** Requests by latency, in the buckets defined in `domain/latency.ts`. */
export const latencyByMinute = table(
  'latency_minutes',
  { minute: integer, bucket: integer, requests: integer },
  { key: ['minute', 'bucket'] },
);

export const latencyByHour = table(
  'latency_hours',
  { hour: integer, bucket: integer, requests: integer },
  { key: ['hour', 'bucket'] },
);

export const usageByKeyAndOperation = table(
  'usage_key_operations',
  { day: integer, keyId: integer, operation: text, requests: integer },
  { key: ['day', 'keyId', 'operation'] },
);

export const usageByHour = table('usage_hours', { hour: integer, ...keyCounts }, { key: ['hour', 'keyId'] });

export const usageByDay = table('usage_days', { day: integer, ...keyCounts }, { key: ['day', 'keyId'] });

/**
 * The number of each process's last report, so that a report resent after an uncertain outcome is counted only once.
 */
export const usageReports = table(
  'usage_reports',
  { process: text, number: integer, reportedAt: integer },
  { key: ['process'], notCopied: 'no process reports to both stores' },
);

export type ReportNumber = RowOf<typeof usageReports>;

/** The instances of the service, each with its workers. `seenAt` is the last heartbeat; 0 after a clean shutdown. */
export const instances = table(
  'instances',
  { name: text, version: text, startedAt: integer, seenAt: integer },
  { key: ['name'], notCopied: 'instances register when they start' },
);

export type Instance = RowOf<typeof instances>;
