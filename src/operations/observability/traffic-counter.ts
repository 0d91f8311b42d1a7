import { type ErrorCode, errors } from '../../contract/errors.ts';
import { allOperations, type OperationId } from '../../contract/operations.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import type { AttemptOutcome } from '../../domain/delivery.ts';
import { findLatencyBucket, latencyBuckets } from '../../domain/latency.ts';
import type { LatencyUsage, MinuteUsage, UsageRows } from '../../storage/admin.ts';
import { KeyUsageCounter } from './key-usage-counter.ts';
import { latencyBounds, retainedSeconds, type Traffic, type TrafficSecond, toOutcome } from './traffic.ts';

/** Maximum number of unrecorded rows of each kind (requests per minute, and latencies). Additional rows are dropped. */
const maxMinuteRows = 20_000;

const codes: readonly (ErrorCode | 'ok')[] = ['ok', ...(Object.keys(errors) as ErrorCode[])];
const okIndex = 0;

/** The first columns of each second: requests by outcome, in this order. The latency buckets follow. */
const outcomes = ['ok', 'refused', 'limited', 'failed'] as const;
type OutcomeIndex = 0 | 1 | 2 | 3;
const buckets = latencyBounds.length + 1;
const columns = outcomes.length + latencyBuckets;

const boundsMs = Float64Array.from(latencyBounds, (seconds) => seconds * 1_000);

interface Code {
  readonly index: number;
  readonly outcome: OutcomeIndex;
}

const indexOf = new Map<string, Code>(
  codes.map((code, index) => [code, { index, outcome: outcomes.indexOf(toOutcome(code)) as OutcomeIndex }]),
);

type MinuteRows = Pick<UsageRows, 'minutes' | 'latencies'>;

/**
 * Requests to an operation since the process started. Stored as doubles, because a busy service exceeds 2³² requests
 * within days.
 */
class OperationCounts {
  readonly operation: string;
  readonly isDeprecated: boolean;
  readonly byCode = new Float64Array(codes.length);
  readonly inMinutes = new Float64Array(codes.length);
  readonly buckets = new Float64Array(buckets);
  sumMs = 0;

  constructor(operation: string, isDeprecated: boolean) {
    this.operation = operation;
    this.isDeprecated = isDeprecated;
  }
}

/**
 * Counts the requests of a process on the main thread. Counting a request costs a few in-place additions, plus one new
 * object per key and hour. A row for a minute excludes requests that are already in an earlier row for that minute.
 */
export class TrafficCounter {
  readonly keys = new KeyUsageCounter();
  /** Attempts to deliver events, by outcome. */
  readonly deliveries: Record<AttemptOutcome, number> = { succeeded: 0, repeated: 0, failed: 0, expired: 0 };
  readonly #clock: Clock;
  readonly #byOperation = new Map<OperationId, OperationCounts>(
    allOperations.map(({ operationId, deprecation }) => [
      operationId,
      new OperationCounts(operationId, deprecation !== undefined),
    ]),
  );
  readonly #withoutOperation = new OperationCounts('none', false);
  readonly #seconds = new Uint32Array(retainedSeconds * columns);
  /** The Unix second that each row covers. */
  readonly #secondOf = new Float64Array(retainedSeconds);
  #second = 0;
  #nextClockCheckAt = 0;
  /** Index of the first column of the current second. */
  #row = 0;
  /** Unix ms. */
  #minute = 0;
  readonly #minutes: MinuteUsage[] = [];
  readonly #latencies: LatencyUsage[] = [];
  /** Requests by latency since the process started, and how many of them are already in minute rows. */
  readonly #byLatency = new Float64Array(latencyBuckets);
  readonly #byLatencyInMinutes = new Float64Array(latencyBuckets);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a completed request. `operationId`, `code` and `caller` are undefined if the request has none. `startedAt`
   * is a `performance.now()` time.
   */
  count(
    operationId: OperationId | undefined,
    code: ErrorCode | undefined,
    caller: Caller | undefined,
    startedAt: number,
  ): void {
    const now = performance.now();
    if (now >= this.#nextClockCheckAt) this.#checkClock(now);
    const tookMs = now - startedAt;
    const known = operationId === undefined ? undefined : this.#byOperation.get(operationId);
    const counts = known ?? this.#withoutOperation;
    const error = code === undefined ? undefined : indexOf.get(code);
    const outcome = error === undefined ? 0 : error.outcome;
    const bucket = findBucket(tookMs);
    const latency = findLatencyBucket(tookMs);
    const index = error === undefined ? okIndex : error.index;
    counts.byCode[index] = (counts.byCode[index] ?? 0) + 1;
    counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
    counts.sumMs += tookMs;
    this.#raise(this.#row + outcome);
    this.#raise(this.#row + outcomes.length + latency);
    this.#byLatency[latency] = (this.#byLatency[latency] ?? 0) + 1;
    if (caller !== undefined) this.keys.count(caller, outcome, counts, this.#minute);
  }

  /** Up to `limit` minute rows of each kind, oldest first. The rows remain until they are dropped. */
  peekMinutes(limit: number): MinuteRows {
    if (!this.hasMinutes) this.#closeMinute();
    return { minutes: this.#minutes.slice(0, limit), latencies: this.#latencies.slice(0, limit) };
  }

  dropMinutes({ minutes, latencies }: MinuteRows): void {
    this.#minutes.splice(0, minutes.length);
    this.#latencies.splice(0, latencies.length);
  }

  get hasMinutes(): boolean {
    return this.#minutes.length > 0 || this.#latencies.length > 0;
  }

  traffic(): Pick<Traffic, 'counts' | 'latencies' | 'seconds' | 'deliveries'> {
    const all = [...this.#byOperation.values(), this.#withoutOperation];
    return {
      deliveries: { ...this.deliveries },
      counts: all.flatMap(({ operation, byCode }) =>
        codes.flatMap((code, index) => {
          const requests = byCode[index] ?? 0;
          return requests === 0 ? [] : [{ operation, code, requests }];
        }),
      ),
      latencies: all.map(({ operation, buckets, sumMs }) => ({
        operation,
        buckets: [...buckets],
        sumSeconds: sumMs / 1_000,
      })),
      seconds: this.#lastSeconds(),
    };
  }

  #raise(index: number): void {
    this.#seconds[index] = (this.#seconds[index] ?? 0) + 1;
  }

  /**
   * Reads the clock only once per second, because reading it costs as much as all the other work here. A test clock is
   * read for every request.
   */
  #checkClock(now: number): void {
    const date = this.#clock.now();
    this.#nextClockCheckAt = this.#clock.rules ? 0 : now + 1_000 - (date % 1_000);
    const second = Math.floor(date / 1_000);
    if (second !== this.#second) this.#turnTo(second);
  }

  #turnTo(second: number): void {
    this.#second = second;
    const row = second % retainedSeconds;
    this.#row = row * columns;
    if (this.#secondOf[row] !== second) {
      this.#seconds.fill(0, this.#row, this.#row + columns);
      this.#secondOf[row] = second;
    }
    const minute = second * 1_000 - ((second * 1_000) % 60_000);
    if (minute === this.#minute) return;
    this.#closeMinute();
    this.#minute = minute;
  }

  #closeMinute(): void {
    for (const { operation, byCode, inMinutes } of [...this.#byOperation.values(), this.#withoutOperation]) {
      for (const [index, code] of codes.entries()) {
        const requests = (byCode[index] ?? 0) - (inMinutes[index] ?? 0);
        if (requests === 0) continue;
        inMinutes[index] = byCode[index] ?? 0;
        if (this.#minutes.length < maxMinuteRows)
          this.#minutes.push({ minute: this.#minute, operation, code, requests });
      }
    }
    for (const [bucket, sum] of this.#byLatency.entries()) {
      const requests = sum - (this.#byLatencyInMinutes[bucket] ?? 0);
      if (requests === 0) continue;
      this.#byLatencyInMinutes[bucket] = sum;
      if (this.#latencies.length < maxMinuteRows)
        this.#latencies.push({ minute: this.#minute, bucket, requests });
    }
  }

  #lastSeconds(): TrafficSecond[] {
    const now = Math.floor(this.#clock.now() / 1_000);
    const rows = [...this.#secondOf.entries()]
      .filter(([, at]) => at > now - retainedSeconds && at <= now)
      .sort(([, one], [, other]) => one - other);
    return rows.map(([row, at]) => {
      const [ok = 0, refused = 0, limited = 0, failed = 0, ...counts] = this.#seconds.subarray(
        row * columns,
        (row + 1) * columns,
      );
      const latencies = [...counts.entries()].filter(([, requests]) => requests > 0);
      return { at, ok, refused, limited, failed, latencies };
    });
  }
}

function findBucket(ms: number): number {
  let bucket = 0;
  while (bucket < boundsMs.length && ms > (boundsMs[bucket] ?? 0)) bucket++;
  return bucket;
}
