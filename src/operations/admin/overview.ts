import type { TrafficSecond as ShownSecond } from '../../contract/admin/system.ts';
import { keptSeconds, latencyBounds, type TrafficSecond } from '../traffic.ts';

const nothing: Omit<TrafficSecond, 'at'> = { ok: 0, refused: 0, limited: 0, failed: 0, buckets: [] };

/** Every second of the last five minutes since the start that is over, those without requests, too. */
export function liveSeconds(
  seconds: readonly TrafficSecond[],
  startedAt: number,
  now: number,
): ShownSecond[] {
  const bySecond = new Map(seconds.map((second) => [second.at, second]));
  const first = Math.max(now - keptSeconds + 1, startedAt);
  return Array.from({ length: Math.max(0, now - first) }, (_, index) => {
    const { ok, refused, limited, failed, buckets } = bySecond.get(first + index) ?? nothing;
    return {
      at: new Date((first + index) * 1_000).toISOString(),
      ...{ ok, refused, limited, failed },
      p50: quantile(buckets, 0.5),
      p99: quantile(buckets, 0.99),
    };
  });
}

/**
 * The latency in microseconds that this share of the requests did not exceed, from the histogram: evenly spread within
 * a bucket. Null without requests.
 */
export function quantile(buckets: readonly number[], share: number): number | null {
  const all = buckets.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let below = 0;
  for (const [index, count] of buckets.entries()) {
    if (below + count >= all * share) {
      const from = latencyBounds[index - 1] ?? 0;
      // Of what is above the last bound no more is known.
      const to = latencyBounds[index] ?? from;
      return Math.round((from + (to - from) * ((all * share - below) / count)) * 1_000_000);
    }
    below += count;
  }
  return null;
}
