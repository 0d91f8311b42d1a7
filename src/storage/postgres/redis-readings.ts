import type { RedisReading, RedisReadings } from '../shared-redis.ts';
import type { PostgresDatabase } from './database.ts';

/** Readings that are older than this are removed, as are those of the future, which a clock that went back leaves. */
const keptMs = 60_000;
/** A process that stops waits no longer than this. */
const removalMs = 1_000;

const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

type Stored = { readonly [Name in keyof RedisReading]: RedisReading[Name] extends number ? bigint : string };

export class PostgresRedisReadings implements RedisReadings {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async list() {
    const rows = await this.#database.read<(Stored & { readonly now: bigint; readonly proposed: string })[]>(
      (sql) =>
        sql.unsafe(`
        SELECT ${now} AS now, gen_random_uuid()::text AS proposed, process, origin, server, since, read_from AS from, read_until AS until
        FROM (SELECT) AS one LEFT JOIN redis_readings ON true`),
    );
    const readings = rows.flatMap((row) => {
      const { process, origin, server, since, from, until } = row;
      if (process === null) return [];
      return [{ process, origin, server, since: Number(since), from: Number(from), until: Number(until) }];
    });
    return { now: Number(rows[0]?.now ?? 0n), proposed: rows[0]?.proposed ?? '', readings };
  }

  async save({
    process,
    origin,
    server,
    from,
  }: Pick<RedisReading, 'process' | 'origin' | 'server' | 'from'>) {
    await this.#database.write((sql) =>
      sql.unsafe(
        `
        WITH removed AS (
          DELETE FROM redis_readings WHERE process = ANY (ARRAY(
            SELECT process FROM redis_readings
            WHERE read_until NOT BETWEEN ${now} - ${keptMs} AND ${now} AND process <> $1
            FOR UPDATE SKIP LOCKED))
        )
        INSERT INTO redis_readings AS old (process, origin, server, since, read_from, read_until)
        VALUES ($1, $2, $3, ${now}, $4, ${now})
        ON CONFLICT (process) DO UPDATE SET
          server = excluded.server, read_from = excluded.read_from, read_until = excluded.read_until,
          since = CASE WHEN old.server = excluded.server THEN least(old.since, excluded.since) ELSE excluded.since END`,
        [process, origin, server, from],
      ),
    );
  }

  async remove(process: string) {
    const dueAt = performance.now() + removalMs;
    await this.#database.write((sql) => sql`DELETE FROM redis_readings WHERE process = ${process}`, dueAt);
  }
}
