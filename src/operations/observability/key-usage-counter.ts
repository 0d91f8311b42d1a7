import { hourMs } from '../../domain/clock.ts';
import type { KeyUsage } from '../../storage/admin.ts';
import type { Caller } from '../../storage/storage.ts';

/** Keys and hours that are counted and not yet recorded, at most: some 6 MB. While there are more, their requests are not recorded. */
const mostRows = 40_000;
const manyRows = 10_000;

export type KeyUsageRow = { -readonly [Name in keyof KeyUsage]: KeyUsage[Name] } & {
  /** Unix ms of its beginning. */
  readonly hour: number;
};

export class KeyUsageCounter {
  #hour = 0;
  #current = new Map<number, KeyUsageRow>();
  /** Of earlier hours, and what was begun to be taken: the oldest first. */
  #closed: Map<number, KeyUsageRow>[] = [];
  #rows = 0;
  #lost = 0;
  whenMany: () => void = () => undefined;

  /** Counts a request in this minute (Unix ms of its beginning), by the index of its outcome. */
  count({ keyId, accountId }: Caller, outcome: 0 | 1 | 2 | 3, isDeprecated: boolean, minute: number): void {
    if (minute < this.#hour || minute >= this.#hour + hourMs) this.#turnTo(minute - (minute % hourMs));
    const row = this.#current.get(keyId) ?? this.#add(keyId, accountId, minute);
    if (row === undefined) return;
    if (outcome === 0) row.ok++;
    else if (outcome === 1) row.refused++;
    else if (outcome === 2) row.limited++;
    else row.failed++;
    if (isDeprecated) row.deprecated++;
    row.lastUsedAt = minute;
  }

  /** Up to `most` rows, the oldest first. They stay until they are dropped, and count nothing more. */
  peek(most: number): KeyUsageRow[] {
    if (this.#closed.length === 0 && this.#current.size > 0) this.#close();
    return [...(this.#closed[0]?.values().take(most) ?? [])];
  }

  drop(rows: readonly KeyUsageRow[]): void {
    const [oldest] = this.#closed;
    for (const { keyId } of rows) oldest?.delete(keyId);
    this.#rows -= rows.length;
    if (oldest?.size === 0) this.#closed.shift();
  }

  /** Whether rows are left of what was begun to be taken, or of earlier hours. */
  get hasRows(): boolean {
    return this.#closed.length > 0;
  }

  /** Requests that were not counted since this was last asked, for too much waited to be recorded. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  #add(keyId: number, accountId: number, minute: number): KeyUsageRow | undefined {
    if (this.#rows >= mostRows) {
      this.#lost++;
      return undefined;
    }
    const none = { ok: 0, refused: 0, limited: 0, failed: 0, deprecated: 0 };
    const row = { keyId, accountId, hour: this.#hour, ...none, lastUsedAt: minute };
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
