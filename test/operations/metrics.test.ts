import { expect, test } from 'bun:test';
import { metricsInput } from '../../scripts/all-metrics.ts';
import { collectMetrics } from '../../src/operations/observability/metrics.ts';

test('with several workers, the metrics of a replica combine what each worker reports', () => {
  const workers = [
    { replica1: 'a', replica1InUse: true, replica1LagSeconds: 1, replica1Reads: 3, primaryReads: 2 },
    { replica1: 'a', replica1InUse: false, replica1LagSeconds: 4, replica1Reads: 5, primaryReads: 1 },
  ];
  const metrics = collectMetrics({
    ...metricsInput,
    facts: { engine: 'PostgreSQL' },
    processes: workers.flatMap((store) => metricsInput.processes.map((process) => ({ ...process, store }))),
  });
  const samplesOf = (name: string) =>
    metrics
      .find((metric) => metric.name === `animal_store_${name}`)
      ?.samples.map(({ labels, value }) => [labels?.server, value]);
  expect(samplesOf('replicable_reads_total')).toEqual([
    ['primary', 3],
    ['a', 8],
  ]);
  expect(samplesOf('replica_in_use')).toEqual([['a', 0]]);
  expect(samplesOf('replica_lag_seconds')).toEqual([['a', 4]]);
});
