import { systemClock } from '../src/domain/clock.ts';
import type { Metric } from '../src/operations/observability/metric.ts';
import { collectMetrics } from '../src/operations/observability/metrics.ts';
import { TrafficCounter } from '../src/operations/observability/traffic-counter.ts';

const store = { groups: 3, units: 7, seconds: 0.5, waiting: 1, engine: 'any' };

/** Input for all possible metrics, for an embedded store and for database servers. */
export const metricsInput: Parameters<typeof collectMetrics>[0] = {
  processes: [
    {
      ...new TrafficCounter(systemClock()).traffic(),
      ...{ startedAt: 0, inFlight: 0, openStreams: 0, eventListeners: 0, memoryBytes: 1, store: {} },
      pageCache: { hits: 0, misses: 0 },
      output: { linesLost: 0, trouble: undefined },
      troubles: [],
      eventLoop: { maxSeconds: 0, sumSeconds: 0, looks: 0 },
    },
  ],
  facts: {
    ...store,
    ...{ dataBytes: 1, walBytes: 2, limitBytes: 3, freeBytes: 4 },
    ...{ poolConnections: 4, poolBusy: 1, poolWaiting: 0, postgresStatements: 9, postgresSeconds: 0.1 },
    ...{ redisRequests: 9, redisSeconds: 0.1 },
    ...{ primaryReads: 1, replica1: 'a', replica1InUse: true, replica1LagSeconds: 0, replica1Reads: 1 },
  },
  troubles: [],
  bans: 0,
  events: { last: 9, oldestAgeMs: 1, keepMs: 1 },
  deliveries: { pending: 1, oldestPendingAgeMs: 1 },
  backups: {
    everyMs: 1,
    latest: { name: 'made', bytes: 1, label: null, verified: null, createdAt: 1 },
    seconds: 1,
    made: 1,
    failed: 0,
  },
  about: { version: '1.0.0' },
  startedAt: 0,
};

export const allMetrics: readonly Metric[] = collectMetrics(metricsInput);
