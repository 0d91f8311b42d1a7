/** Generates a month of usage records: requests by operation with latency, and requests by key. */
import packageJson from '../../package.json' with { type: 'json' };
import { findLatencyBucket } from '../../src/domain/latency.ts';
import type { UsageRows } from '../../src/storage/admin.ts';
import type { TestConsole } from '../../test/support/console.ts';
import { newReport } from '../../test/support/usage.ts';

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Returns the number of requests in an hour: more during the day than at night, and most on Saturdays. */
function loadAt(at: number): number {
  const [ofDay, weekday] = [new Date(at).getUTCHours(), new Date(at).getUTCDay()];
  return (weekday === 6 ? 9_500 : 5_800) * Math.max(0.08, Math.sin(((ofDay - 3) / 24) * 2 * Math.PI));
}

const isSaturday = (at: number) => new Date(at).getUTCDay() === 6;

/** Operation, outcome, and fraction of all requests. */
const shares = [
  ['listPets', 'ok', 0.7],
  ['getPet', 'ok', 0.14],
  ['placeOrder', 'ok', 0.1],
  ['createPet', 'ok', 0.03],
  ['placeOrder', 'pet_not_available', 0.012],
  ['getPet', 'pet_not_found', 0.01],
  ['createPet', 'invalid_body', 0.005],
] as const;

/** Latencies in ms, and the fraction of requests with each latency. */
const latencies = [
  [0.06, 0.5],
  [0.11, 0.3],
  [0.4, 0.15],
  [2.6, 0.04],
  [9, 0.01],
] as const;

function minuteRows(minute: number, requests: number): Pick<UsageRows, 'minutes' | 'latencies'> {
  const limited = isSaturday(minute) ? ([['listPets', 'rate_limit_exceeded', 0.08]] as const) : [];
  return {
    minutes: [...shares, ...limited]
      .map(([operation, code, share]) => ({
        minute,
        operation,
        code,
        requests: Math.round(requests * share),
      }))
      .filter((row) => row.requests > 0),
    latencies: latencies
      .map(([ms, share]) => ({
        minute,
        bucket: findLatencyBucket(ms),
        requests: Math.round(requests * share),
      }))
      .filter((row) => row.requests > 0),
  };
}

const keyOf = { keyId: 2, accountId: 2 } as const;

function keyRow(hour: number): UsageRows['keys'][number] {
  const ok = Math.round(loadAt(hour));
  return {
    ...{ ...keyOf, hour, lastUsedAt: hour, ok, failed: 0, deprecated: 0 },
    refused: Math.round(ok / 45),
    limited: isSaturday(hour) ? Math.round(ok / 12) : 0,
    operations: [
      { operation: 'listPets', requests: Math.round(ok * 0.75) },
      { operation: 'getPet', requests: Math.round(ok * 0.15) },
      { operation: 'placeOrder', requests: Math.round(ok * 0.1) },
    ],
  };
}

/** Records requests per minute for the last day, and per hour for the 29 days before that. */
export async function insertPastRequests({ app }: TestConsole): Promise<void> {
  const now = Date.now();
  const lastDay = Math.floor(now / hourMs) * hourMs - dayMs;
  const hours = Array.from({ length: 29 * 24 }, (_, n) => lastDay - (n + 1) * hourMs);
  const minutes = Array.from(
    { length: Math.floor((now - lastDay) / minuteMs) },
    (_, n) => lastDay + n * minuteMs,
  );
  const rows = [
    ...hours.map((hour) => minuteRows(hour, loadAt(hour))),
    ...minutes.map((minute) =>
      minuteRows(minute, (loadAt(minute) / 60) * (1 + 0.3 * Math.sin(minute / minuteMs))),
    ),
  ];
  const today = Math.floor(now / dayMs) * dayMs;
  await app.admin.storage.write('recordUsage', {
    minutes: rows.flatMap((row) => row.minutes),
    latencies: rows.flatMap((row) => row.latencies),
    keys: hours.filter((hour) => hour < today).map(keyRow),
    number: newReport(now),
    instance: { name: 'web-1', version: packageJson.version, startedAt: now, seenAt: 0 },
  });
}
