/** A change of the schema, as SQL of each engine. */
interface SchemaChange {
  readonly sqlite: string;
  readonly postgres: string;
}

/** Steps that both engines take after the earlier ones, which each has alone. They are only ever appended, and never changed. */
export const schemaChanges: readonly SchemaChange[] = [
  {
    sqlite: `
      CREATE TABLE events (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        type       TEXT    NOT NULL,
        data       TEXT    NOT NULL,
        account_id INTEGER,
        created_at INTEGER NOT NULL
      ) STRICT;`,
    postgres: `
      CREATE TABLE events (
        id         bigint PRIMARY KEY,
        type       text   NOT NULL,
        data       text   NOT NULL,
        account_id bigint,
        created_at bigint NOT NULL
      );
      INSERT INTO counters (name, last) VALUES ('events', 0);

      -- A transaction adds its events here, in no particular order of commits. The next reader numbers them: an id that a
      -- writer drew could become visible after a higher one.
      CREATE TABLE unnumbered_events (
        number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        type       text   NOT NULL,
        data       text   NOT NULL,
        account_id bigint,
        created_at bigint NOT NULL
      );

      -- Moves committed events to the table of events, at most 10,000 of them, and returns how many.
      CREATE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$
      DECLARE
        numbered bigint;
      BEGIN
        IF NOT EXISTS (SELECT FROM unnumbered_events) THEN
          RETURN 0;
        END IF;
        -- One process numbers at a time. Behind the lock, statements see the events that the one before left.
        PERFORM FROM counters WHERE name = 'events' FOR UPDATE;
        WITH taken AS (
          DELETE FROM unnumbered_events
          WHERE number IN (SELECT number FROM unnumbered_events ORDER BY number LIMIT 10000)
          RETURNING *
        ), counted AS (
          UPDATE counters SET last = last + (SELECT count(*) FROM taken) WHERE name = 'events'
          RETURNING last - (SELECT count(*) FROM taken) AS before
        )
        INSERT INTO events (id, type, data, account_id, created_at)
        SELECT before + row_number() OVER (ORDER BY number), type, data, account_id, created_at FROM counted, taken;
        GET DIAGNOSTICS numbered = ROW_COUNT;
        RETURN numbered;
      END
      $$;`,
  },
];
