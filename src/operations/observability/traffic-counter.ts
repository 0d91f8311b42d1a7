import { type ErrorCode, errors } from '../../contract/errors.ts';
import { allOperations, type OperationId } from '../../contract/operations.ts';
import type { Clock } from '../../domain/clock.ts';
import type { AttemptOutcome } from '../../domain/delivery.ts';
import type { MinuteUsage } from '../../storage/admin.ts';
import type { Caller } from '../../storage/storage.ts';
import { KeyUsageCounter } from './key-usage-counter.ts';
import { keptSeconds, latencyBounds, type Traffic, type TrafficSecond } from './traffic.ts';

/** Minutes, operations and codes that wait to be recorded, at most. What comes on top is not recorded. */
const mostMinuteRows = 20_000;

const codes: readonly (ErrorCode | 'ok')[] = ['ok', ...(Object.keys(errors) as ErrorCode[])];
const okIndex = 0;

/** The columns of a second: requests by outcome, in this order, then the buckets of latency. */
const outcomes = ['ok', 'refused', 'limited', 'failed'] as const;
type OutcomeIndex = 0 | 1 | 2 | 3;
const buckets = latencyBounds.length + 1;
const columns = outcomes.length + buckets;

const boundsMs = Float64Array.from(latencyBounds, (seconds) => seconds * 1_000);

interface Code {
  readonly index: number;
  readonly outcome: OutcomeIndex;
}

const indexOf = new Map<ErrorCode, Code>(
  codes.flatMap((code, index) => (code === 'ok' ? [] : [[code, { index, outcome: outcomeOf(code) }]])),
);

function outcomeOf(code: ErrorCode): OutcomeIndex {
  const { status } = errors[code];
  if (status >= 500) return 3;
  return status === 429 ? 2 : 1;
}

/** The requests of an operation since the start. Doubles, for a busy service passes 2³² in days. */
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
 * Counts the requests of a process, in the thread that answers them: a few additions to numbers in place, and the
 * objects made are one per key and hour. A minute's row is the difference to the rows before.
 */
export class TrafficCounter {
  readonly keys = new KeyUsageCounter();
  /** Attempts to deliver events. */
  readonly deliveries: Record<AttemptOutcome, number> = { succeeded: 0, repeated: 0, failed: 0, expired: 0 };
  readonly #clock: Clock;
  readonly #byOperation = new Map<OperationId, OperationCounts>(
    allOperations.map(({ operationId, deprecation }) => [
      operationId,
      new OperationCounts(operationId, deprecation !== undefined),
    ]),
  );
  readonly #ofNone = new OperationCounts('none', false);
  readonly #seconds = new Uint32Array(keptSeconds * columns);
  /** The Unix second that each row of them is of. */
  readonly #secondOf = new Float64Array(keptSeconds);
  #second = 0;
  #lookAt = 0;
  /** Where the row of the current second begins. */
  #row = 0;
  /** Unix ms. */
  #minute = 0;
  readonly #minutes: MinuteUsage[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts an answered request; `operationId`, `code` and `caller` are undefined for none.
   * `startedAt` is of `performance.now()`.
   */
  count(
    operationId: OperationId | undefined,
    code: ErrorCode | undefined,
    caller: Caller | undefined,
    startedAt: number,
  ): void {
    const now = performance.now();
    if (now >= this.#lookAt) this.#lookAtClock(now);
    const tookMs = now - startedAt;
    const known = operationId === undefined ? undefined : this.#byOperation.get(operationId);
    const counts = known ?? this.#ofNone;
    const error = code === undefined ? undefined : indexOf.get(code);
    const outcome = error === undefined ? 0 : error.outcome;
    const bucket = bucketOf(tookMs);
    const index = error === undefined ? okIndex : error.index;
    counts.byCode[index] = (counts.byCode[index] ?? 0) + 1;
    counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
    counts.sumMs += tookMs;
    this.#raise(this.#row + outcome);
    this.#raise(this.#row + outcomes.length + bucket);
    if (caller !== undefined) this.keys.count(caller, outcome, counts.isDeprecated, this.#minute);
  }

  /** Up to `most` rows of what was counted by minute, the oldest first. They stay until they are dropped. */
  peekMinutes(most: number): MinuteUsage[] {
    if (this.#minutes.length === 0) this.#closeMinute();
    return this.#minutes.slice(0, most);
  }

  dropMinutes(rows: number): void {
    this.#minutes.splice(0, rows);
  }

  get hasMinutes(): boolean {
    return this.#minutes.length > 0;
  }

  traffic(): Pick<Traffic, 'counts' | 'latencies' | 'seconds' | 'deliveries'> {
    const all = [...this.#byOperation.values(), this.#ofNone];
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

  /** The date is looked at once a second, for that costs as much as all the rest; a clock that rules, each time. */
  #lookAtClock(now: number): void {
    const date = this.#clock.now();
    this.#lookAt = this.#clock.rules ? 0 : now + 1_000 - (date % 1_000);
    const second = Math.floor(date / 1_000);
    if (second !== this.#second) this.#turnTo(second);
  }

  #turnTo(second: number): void {
    this.#second = second;
    const row = second % keptSeconds;
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
    for (const { operation, byCode, inMinutes } of [...this.#byOperation.values(), this.#ofNone]) {
      for (const [index, code] of codes.entries()) {
        const requests = (byCode[index] ?? 0) - (inMinutes[index] ?? 0);
        if (requests === 0) continue;
        inMinutes[index] = byCode[index] ?? 0;
        if (this.#minutes.length < mostMinuteRows)
          this.#minutes.push({ minute: this.#minute, operation, code, requests });
      }
    }
  }

  #lastSeconds(): TrafficSecond[] {
    const now = Math.floor(this.#clock.now() / 1_000);
    const rows = [...this.#secondOf.entries()]
      .filter(([, at]) => at > now - keptSeconds && at <= now)
      .sort(([, one], [, other]) => one - other);
    return rows.map(([row, at]) => {
      const [ok = 0, refused = 0, limited = 0, failed = 0, ...buckets] = this.#seconds.subarray(
        row * columns,
        (row + 1) * columns,
      );
      return { at, ok, refused, limited, failed, buckets };
    });
  }
}

function bucketOf(ms: number): number {
  let bucket = 0;
  while (bucket < boundsMs.length && ms > (boundsMs[bucket] ?? 0)) bucket++;
  return bucket;
}
