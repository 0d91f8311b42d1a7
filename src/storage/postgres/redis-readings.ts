import type { RedisReading, RedisReadings } from '../../limits/redis-readings.ts';
import type { PostgresDatabase } from './database.ts';

/** Older readings are removed, and so are readings from the future, which remain after the clock was set back. */
const keptMs = 60_000;
/** Timeout for removing a process's reading when the process stops. */
const removalMs = 1_000;

const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Removes outdated readings, except that of the process that stores its reading. */
const withoutOld = `
  WITH removed AS (
    DELETE FROM redis_readings WHERE process = ANY (ARRAY(
      SELECT process FROM redis_readings
      WHERE read_until NOT BETWEEN ${now} - ${keptMs} AND ${now} AND process <> $1
      FOR UPDATE SKIP LOCKED))
  )`;

type Stored = {
  readonly [Name in keyof RedisReading]: RedisReading[Name] extends number ? bigint : RedisReading[Name];
};

export const redisReadings = (database: PostgresDatabase): RedisReadings => ({
  async list() {
    const rows = await database.read<(Stored & { readonly now: bigint; readonly proposed: string })[]>(
      (sql) =>
        sql.unsafe(`
        SELECT ${now} AS now, gen_random_uuid()::text AS proposed, process, origin, server, since, read_from AS from, read_until AS until,
          is_confirmed AS "isConfirmed"
        FROM (SELECT) AS one LEFT JOIN redis_readings ON true`),
    );
    const readings = rows.flatMap((row) => {
      if (row.process === null) return [];
      const { process, origin, server, since, from, until, isConfirmed } = row;
      const times = { since: Number(since), from: Number(from), until: Number(until) };
      return [{ process, origin, server, ...times, isConfirmed }];
    });
    return { now: Number(rows[0]?.now ?? 0n), proposed: rows[0]?.proposed ?? '', readings };
  },

  async save({ process, origin, server, since, from, isConfirmed }) {
    await database.write((sql) =>
      sql.unsafe(
        `${withoutOld}
        INSERT INTO redis_readings AS old (process, origin, server, since, read_from, read_until, is_confirmed)
        VALUES ($1, $2, $3, $6, $4, ${now}, $5)
        ON CONFLICT (process) DO UPDATE SET
          server = excluded.server, read_from = excluded.read_from, read_until = excluded.read_until,
          is_confirmed = excluded.is_confirmed,
          since = CASE WHEN old.server = excluded.server AND old.read_from > 0 THEN least(old.since, excluded.since)
            ELSE excluded.since END`,
        [process, origin, server, from, isConfirmed, since],
      ),
    );
  },

  async keep({ process, origin, server }) {
    // A reading from the future, taken before PostgreSQL's clock was set back, would seem to be newer than this one.
    await database.write((sql) =>
      sql.unsafe(
        `${withoutOld}
        INSERT INTO redis_readings AS old (process, origin, server, since, read_from, read_until)
        VALUES ($1, $2, $3, ${now}, 0, ${now})
        ON CONFLICT (process) DO UPDATE SET
          server = CASE WHEN old.read_from = 0 THEN excluded.server ELSE old.server END,
          read_from = CASE WHEN old.read_from > excluded.read_until THEN 0 ELSE old.read_from END,
          read_until = excluded.read_until`,
        [process, origin, server],
      ),
    );
  },

  async remove(process) {
    const dueAt = performance.now() + removalMs;
    await database.write((sql) => sql`DELETE FROM redis_readings WHERE process = ${process}`, dueAt);
  },
});
