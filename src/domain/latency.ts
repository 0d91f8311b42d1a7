/**
 * Latencies are counted in buckets: four for each doubling of the latency in microseconds, so that an estimate is off
 * by at most one eighth.
 */

const bucketsPerPower = 4;
const powersOfTwo = 27;

/** The last bucket counts latencies of 117 s or more. */
export const latencyBuckets = (powersOfTwo - 1) * bucketsPerPower;

const maxMicroseconds = 2 ** powersOfTwo - 1;

/** The bucket for a latency in ms. */
export function findLatencyBucket(ms: number): number {
  const microseconds = Math.min(ms * 1_000, maxMicroseconds) | 0;
  if (microseconds < bucketsPerPower) return Math.max(0, microseconds);
  const power = 31 - Math.clz32(microseconds);
  return (power - 1) * bucketsPerPower + ((microseconds >>> (power - 2)) & 3);
}

/** The lower bound of a bucket, in microseconds. */
function lowerBound(bucket: number): number {
  if (bucket < bucketsPerPower) return bucket;
  return (bucketsPerPower + (bucket & 3)) * 2 ** ((bucket >>> 2) - 1);
}

/** Number of requests in each bucket. */
export type LatencyHistogram = readonly (readonly [bucket: number, requests: number])[];

/** Latency quantiles in whole microseconds, interpolated linearly within a bucket. Null if there are no requests. */
export function latencyQuantiles(counts: LatencyHistogram, shares: readonly number[]): (number | null)[] {
  const sorted = counts.toSorted(([one], [other]) => one - other);
  const all = sorted.reduce((sum, [, requests]) => sum + requests, 0);
  return shares.map((share) => {
    let below = 0;
    for (const [bucket, requests] of sorted) {
      if (below + requests >= all * share) {
        const from = lowerBound(bucket);
        const part = (all * share - below) / requests;
        return Math.round(from + (lowerBound(bucket + 1) - from) * part);
      }
      below += requests;
    }
    return null;
  });
}
