import type { SQL } from 'bun';
import { dayMs, maxStartShift, minuteMs } from '../../domain/clock.ts';
import type { AccountBan, LiftedBan, LimitSnapshots } from '../../limits/snapshots.ts';
import { toNumbers } from '../../tables/sql.ts';
import type { PostgresDatabase } from './database.ts';
import type { Versioned } from './statements.ts';
import { incrementVersion } from './versions.ts';

interface UsageRow {
  readonly accountId: number;
  readonly minuteOpened: number;
  readonly minuteCount: number;
  readonly dayOpened: number;
  readonly dayCount: number;
}

/**
 * Stores usage and bans, so that they can be restored after Redis loses its data. Strikes are not stored, because they
 * expire within minutes.
 */
export const limitSnapshots = (database: PostgresDatabase): LimitSnapshots => ({
  async saveUsage(snapshots) {
    // Sorted by id, to avoid deadlocks between instances that save concurrently.
    const sorted = snapshots.toSorted((one, other) => one.accountId - other.accountId);
    const rows = sorted.map(({ accountId, usage: { minute, day } }) => {
      return [accountId, minute.openedAt, minute.count, day.openedAt, day.count];
    });
    await database.write(
      (sql) => sql`
        INSERT INTO usage_snapshots AS old (account_id, minute_opened, minute_count, day_opened, day_count)
        SELECT (value->>0)::bigint, (value->>1)::bigint, (value->>2)::bigint, (value->>3)::bigint,
               (value->>4)::bigint
        FROM json_array_elements(${JSON.stringify(rows)}::text::json) AS snapshot (value)
        ON CONFLICT (account_id) DO UPDATE SET
          ${mergeWindow(sql, 'minute', minuteMs)}, ${mergeWindow(sql, 'day', dayMs)}`,
    );
  },

  async findUsages(accountIds) {
    const rows = await database.read<object[]>(
      (sql) => sql`
        SELECT account_id AS "accountId", minute_opened AS "minuteOpened", minute_count AS "minuteCount",
               day_opened AS "dayOpened", day_count AS "dayCount"
        FROM usage_snapshots WHERE ${isIn(sql, accountIds)}`,
    );
    const usages = Array.from(rows, toNumbers<UsageRow>);
    return new Map(
      usages.map(({ accountId, minuteOpened, minuteCount, dayOpened, dayCount }) => [
        accountId,
        {
          minute: { openedAt: minuteOpened, count: minuteCount },
          day: { openedAt: dayOpened, count: dayCount },
        },
      ]),
    );
  },

  async saveBans(bans) {
    // Sorted by id, to avoid deadlocks between instances that save concurrently.
    const sorted = bans.toSorted((one, other) => one.keyId - other.keyId);
    const rows = sorted.map(({ keyId, accountId, bannedUntil, level }) => [
      ...[keyId, accountId, bannedUntil, level],
    ]);
    await database.write(
      (sql) => sql`
        INSERT INTO ban_snapshots AS old (key_id, account_id, banned_until, ban_level)
        SELECT (value->>0)::bigint, (value->>1)::bigint, (value->>2)::bigint, (value->>3)::bigint
        FROM json_array_elements(${JSON.stringify(rows)}::text::json) AS ban (value)
        ON CONFLICT (key_id) DO UPDATE SET
          banned_until = excluded.banned_until, ban_level = excluded.ban_level
        WHERE excluded.banned_until > old.banned_until AND abs(old.lifted_until - excluded.banned_until) > 1`,
    );
  },

  async findBans(accountIds) {
    return readBans(database, (sql) => sql`banned_until > 0 AND ${isIn(sql, accountIds)}`);
  },

  async listBans(second) {
    return readBans(database, (sql) => sql`banned_until > 0 AND banned_until > ${second}`);
  },

  async correctBans(corrections) {
    // Sorted by id, to avoid deadlocks between instances that correct the same bans.
    const sorted = corrections.toSorted((one, other) => one.ban.keyId - other.ban.keyId);
    const rows = sorted.map(({ ban, bannedUntil, level }) => [
      ban.keyId,
      ban.bannedUntil,
      bannedUntil,
      level,
    ]);
    await database.write(
      (sql) => sql`
        UPDATE ban_snapshots SET banned_until = (value->>2)::bigint, ban_level = (value->>3)::bigint
        FROM json_array_elements(${JSON.stringify(rows)}::text::json) AS correction (value)
        WHERE key_id = (value->>0)::bigint AND banned_until = (value->>1)::bigint`,
    );
  },

  async deleteBan({ keyId, accountId, bannedUntil }) {
    const [row] = await database.write<Versioned[]>(
      (sql) => sql`
        WITH deleted AS (
          INSERT INTO ban_snapshots (key_id, account_id, banned_until, ban_level, lifted_until)
          VALUES (${keyId}, ${accountId}, 0, 0, ${bannedUntil})
          ON CONFLICT (key_id) DO UPDATE SET
            banned_until = 0, ban_level = 0, lifted_until = excluded.lifted_until
        )
        UPDATE counters SET ${incrementVersion(sql)} WHERE name = 'keys' RETURNING version`,
    );
    return Number(row?.version ?? 0n);
  },

  async listLifted(second) {
    const rows = await database.read<object[]>(
      (sql) => sql`
        SELECT key_id AS "keyId", account_id AS "accountId", lifted_until AS "bannedUntil"
        FROM ban_snapshots WHERE lifted_until > 0 AND lifted_until > ${second}`,
    );
    return Array.from(rows, toNumbers<LiftedBan>);
  },
});

async function readBans(
  database: PostgresDatabase,
  condition: (sql: SQL) => SQL.Query<unknown>,
): Promise<AccountBan[]> {
  const rows = await database.read<object[]>(
    (sql) => sql`
      SELECT key_id AS "keyId", account_id AS "accountId", banned_until AS "bannedUntil", ban_level AS level
      FROM ban_snapshots WHERE ${condition(sql)}`,
  );
  return Array.from(rows, toNumbers<AccountBan>);
}

/** Assignments that merge a saved window with the stored one, which may be the same window (`maxStartShift`). */
function mergeWindow(sql: SQL, window: 'minute' | 'day', lengthMs: number) {
  const [opened, count] = [`${window}_opened`, `${window}_count`];
  const isSame = `abs(old.${opened} - excluded.${opened}) < ${(lengthMs / 1_000) * maxStartShift}`;
  return sql.unsafe(`
    ${opened} = CASE
      WHEN ${isSame} THEN excluded.${opened}
      ELSE greatest(old.${opened}, excluded.${opened}) END,
    ${count} = CASE
      WHEN ${isSame} THEN greatest(old.${count}, excluded.${count})
      WHEN old.${opened} > excluded.${opened} THEN old.${count}
      ELSE excluded.${count} END`);
}

/** Passes all ids in one parameter, so that the statement is prepared only once. */
function isIn(sql: SQL, accountIds: readonly number[]) {
  return sql`
    account_id IN (SELECT value::bigint FROM json_array_elements_text(${JSON.stringify(accountIds)}::text::json))`;
}
