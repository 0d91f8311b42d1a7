import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { findLatencyBucket, latencyBuckets, latencyQuantiles } from '../../src/domain/latency.ts';
import { always } from '../support/property.ts';

const median = (ms: number) => latencyQuantiles([[findLatencyBucket(ms), 1]], [0.5])[0] ?? 0;

describe('latency buckets', () => {
  test('are accurate to within an eighth of the latency, or a microsecond', () => {
    always(fc.double({ min: 0, max: 117_000, noNaN: true }), (ms) => {
      const bucket = findLatencyBucket(ms);
      expect(bucket).toBeGreaterThanOrEqual(0);
      expect(bucket).toBeLessThan(latencyBuckets);
      expect(Math.abs(median(ms) - ms * 1_000)).toBeLessThanOrEqual((ms * 1_000) / 8 + 1);
    });
  });

  test('are ordered by latency, and the last one has no upper limit', () => {
    const of = Array.from({ length: 400 }, (_, step) => findLatencyBucket(0.001 * 1.06 ** step));
    expect(of.toSorted((one, other) => one - other)).toEqual(of);
    expect([of[0], of.at(-1), findLatencyBucket(1e12)]).toEqual([1, latencyBuckets - 1, latencyBuckets - 1]);
    expect([findLatencyBucket(0), findLatencyBucket(-1)]).toEqual([0, 0]);
  });
});

describe('latency quantiles', () => {
  test('are interpolated linearly within a bucket, whatever the order of the buckets', () => {
    const counts = [
      [findLatencyBucket(1.1), 50],
      [findLatencyBucket(0.1), 50],
    ] as const;
    // 1.1 ms is in the bucket from 1,024 to 1,280 µs, and 100 µs is in the bucket from 96 to 112 µs.
    expect(latencyQuantiles(counts, [0.25, 0.5, 0.75, 1])).toEqual([104, 112, 1_152, 1_280]);
  });

  test('are null without requests', () => {
    expect(latencyQuantiles([], [0.5, 0.99])).toEqual([null, null]);
  });
});
