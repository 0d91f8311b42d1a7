import type { Caller } from '../../domain/caller.ts';
import { hourMs } from '../../domain/clock.ts';
import type { KeyHour, KeyOperation } from '../../storage/admin.ts';

/**
 * Maximum number of rows, one per key and hour, that can wait to be recorded (about 13 MB). Requests that would exceed
 * it are not counted.
 */
const maxRows = 40_000;
const manyRows = 10_000;

type Counted<Row> = { -readonly [Name in keyof Row]: Row[Name] };

type KeyUsageRow = Counted<Omit<KeyHour, 'operations'>> & {
  /** A short array, because a client uses few operations and counts are recorded often. */
  readonly operations: Counted<Pick<KeyOperation, 'operation' | 'requests'>>[];
};

interface CountedOperation {
  readonly operation: string;
  readonly isDeprecated: boolean;
}

export class KeyUsageCounter {
  #hour = 0;
  #current = new Map<number, KeyUsageRow>();
  /** Rows for earlier hours, and the rest of a partly recorded batch, oldest first. */
  #closed: Map<number, KeyUsageRow>[] = [];
  #rows = 0;
  #lostRequests = 0;
  whenMany: () => void = () => undefined;

  /** Counts a request in the minute that begins at `minute` (Unix ms), by the index of its outcome. */
  count(
    { keyId, accountId }: Caller,
    outcome: 0 | 1 | 2 | 3,
    { operation, isDeprecated }: CountedOperation,
    minute: number,
  ): void {
    if (minute < this.#hour || minute >= this.#hour + hourMs) this.#turnTo(minute - (minute % hourMs));
    const row = this.#current.get(keyId) ?? this.#add(keyId, accountId, minute);
    if (row === undefined) return;
    if (outcome === 0) row.ok++;
    else if (outcome === 1) row.refused++;
    else if (outcome === 2) row.limited++;
    else row.failed++;
    if (isDeprecated) row.deprecated++;
    row.lastUsedAt = minute;
    for (const known of row.operations) {
      if (known.operation !== operation) continue;
      known.requests++;
      return;
    }
    row.operations.push({ operation, requests: 1 });
  }

  /**
   * Rows, oldest first, that are stored as up to `limit` rows in total: two for each key and hour, and one for each of
   * its operations. These rows no longer change, and remain until they are dropped.
   */
  peek(limit: number): KeyUsageRow[] {
    if (this.#closed.length === 0 && this.#current.size > 0) this.#close();
    const rows: KeyUsageRow[] = [];
    let stored = 0;
    for (const row of this.#closed[0]?.values() ?? []) {
      stored += 2 + row.operations.length;
      if (stored > limit && rows.length > 0) break;
      rows.push(row);
    }
    return rows;
  }

  drop(rows: readonly Pick<KeyHour, 'keyId'>[]): void {
    const [oldest] = this.#closed;
    for (const { keyId } of rows) oldest?.delete(keyId);
    this.#rows -= rows.length;
    if (oldest?.size === 0) this.#closed.shift();
  }

  /** Whether rows of the current batch or of earlier hours remain. */
  get hasRows(): boolean {
    return this.#closed.length > 0;
  }

  /** Number of requests not counted since the last call, because there were too many unrecorded rows. */
  takeLost(): number {
    const lostRequests = this.#lostRequests;
    this.#lostRequests = 0;
    return lostRequests;
  }

  #add(keyId: number, accountId: number, minute: number): KeyUsageRow | undefined {
    if (this.#rows >= maxRows) {
      this.#lostRequests++;
      return undefined;
    }
    const zeroCounts = { ok: 0, refused: 0, limited: 0, failed: 0, deprecated: 0 };
    const row = { keyId, accountId, hour: this.#hour, ...zeroCounts, lastUsedAt: minute, operations: [] };
    this.#current.set(keyId, row);
    this.#rows++;
    if (this.#current.size === manyRows) this.whenMany();
    return row;
  }

  #turnTo(hour: number): void {
    if (this.#current.size > 0) this.#close();
    this.#hour = hour;
  }

  #close(): void {
    this.#closed.push(this.#current);
    this.#current = new Map();
  }
}
