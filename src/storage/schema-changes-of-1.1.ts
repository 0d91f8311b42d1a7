import type { SchemaChange } from './schema-change.ts';

/**
 * Migration steps up to version 1.1.0 and of the days after. The first two were changed after the release:
 * `addedTo11` completes the stores that it created.
 */
export const changesOf11: readonly SchemaChange[] = [
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

      -- Rows stay for a moment only, so the table is vacuumed by their number, not by its size.
      ALTER TABLE unnumbered_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

      -- Moves committed events to the table of events, at most 10,000 of them, and returns how many.
      CREATE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$
      DECLARE
        numbered bigint;
      BEGIN
        -- By the index, which is shorter than the rows that were moved since the last vacuum.
        PERFORM FROM unnumbered_events ORDER BY number LIMIT 1;
        IF NOT FOUND THEN
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
  {
    sqlite: `
    CREATE TABLE webhooks (
      id                  INTEGER PRIMARY KEY AUTOINCREMENT,
      account_id          INTEGER NOT NULL,
      url                 TEXT    NOT NULL,
      types               TEXT    NOT NULL,
      description         TEXT,
      enabled             INTEGER NOT NULL,
      disabled_reason     TEXT,
      secret              TEXT    NOT NULL,
      former_secret       TEXT,
      former_secret_until INTEGER,
      position            INTEGER NOT NULL,
      succeeded_at        INTEGER,
      created_at          INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX webhooks_by_account ON webhooks (account_id);
    CREATE INDEX webhooks_by_state ON webhooks (enabled);
    CREATE INDEX webhooks_by_account_and_state ON webhooks (account_id, enabled);

    CREATE TABLE deliveries (
      id              INTEGER PRIMARY KEY AUTOINCREMENT,
      webhook_id      INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      event_id        INTEGER NOT NULL,
      type            TEXT    NOT NULL,
      status          TEXT    NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
      attempts        TEXT    NOT NULL,
      next_attempt_at INTEGER,
      leased_until    INTEGER,
      created_at      INTEGER NOT NULL,
      finished_at     INTEGER
    ) STRICT;
    CREATE INDEX deliveries_by_status ON deliveries (status);
    CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, status);
    CREATE INDEX due_deliveries ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
    CREATE INDEX leased_deliveries ON deliveries (webhook_id, leased_until) WHERE leased_until IS NOT NULL;
    CREATE INDEX finished_deliveries ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

    INSERT INTO versions VALUES ('webhooks', 1);
    `,
    postgres: `
    CREATE TABLE webhooks (
      id                  bigint  PRIMARY KEY,
      account_id          bigint  NOT NULL,
      url                 text    NOT NULL,
      types               text    NOT NULL,
      description         text,
      enabled             boolean NOT NULL,
      disabled_reason     text,
      secret              text    NOT NULL,
      former_secret       text,
      former_secret_until bigint,
      position            bigint  NOT NULL,
      succeeded_at        bigint,
      created_at          bigint  NOT NULL
    );
    CREATE INDEX webhooks_by_account ON webhooks (account_id, id);
    CREATE INDEX webhooks_by_state ON webhooks (enabled, id);
    CREATE INDEX webhooks_by_account_and_state ON webhooks (account_id, enabled, id);

    CREATE TABLE deliveries (
      id              bigint PRIMARY KEY,
      webhook_id      bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      event_id        bigint NOT NULL,
      type            text   NOT NULL,
      status          text   NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
      attempts        text   NOT NULL,
      next_attempt_at bigint,
      leased_until    bigint,
      created_at      bigint NOT NULL,
      finished_at     bigint
    );
    CREATE INDEX deliveries_by_status ON deliveries (status, id);
    CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, status, id);
    CREATE INDEX due_deliveries ON deliveries (webhook_id, next_attempt_at, id) WHERE status = 'pending';
    CREATE INDEX leased_deliveries ON deliveries (webhook_id, leased_until) WHERE leased_until IS NOT NULL;
    CREATE INDEX finished_deliveries ON deliveries (finished_at, id) WHERE finished_at IS NOT NULL;

    INSERT INTO counters (name, last) VALUES ('webhooks', 0), ('deliveries', 0);
    `,
  },
  {
    sqlite: `
    CREATE TABLE usage_reports (
      process     TEXT    NOT NULL PRIMARY KEY,
      number      INTEGER NOT NULL,
      reported_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    `,
    postgres: `
    CREATE TABLE usage_reports (
      process     text   PRIMARY KEY,
      number      bigint NOT NULL,
      reported_at bigint NOT NULL
    );
    `,
    postgresIndexes: 'CREATE INDEX lifted_bans ON ban_snapshots (lifted_until) WHERE lifted_until > 0',
  },
  {
    // The embedded store does not need this table, because rereading a page takes less time than checking whether the
    // page changed.
    postgres: `
    -- The version that the last change of a row with an id in a range gave its resource. Triggers write it, so that no writer
    -- can miss it, such as an instance of an older version.
    CREATE TABLE changed_ranges (
      resource text   NOT NULL,
      range    bigint NOT NULL,
      version  bigint NOT NULL,
      PRIMARY KEY (resource, range)
    );
    CREATE INDEX changed_ranges_by_version ON changed_ranges (resource, version);
    CREATE FUNCTION note_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO changed_ranges (resource, range, version)
      SELECT TG_ARGV[0], ranges.range, counters.version
      FROM (SELECT DISTINCT id / 128 AS range FROM changed) AS ranges, counters WHERE counters.name = TG_ARGV[0]
      ON CONFLICT (resource, range) DO UPDATE SET version = excluded.version;
      RETURN NULL;
    END $$;
    CREATE TRIGGER noted_insert AFTER INSERT ON pets
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('pets');
    CREATE TRIGGER noted_update AFTER UPDATE ON pets
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('pets');
    CREATE TRIGGER noted_delete AFTER DELETE ON pets
      REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('pets');
    CREATE TRIGGER noted_insert AFTER INSERT ON orders
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('orders');
    CREATE TRIGGER noted_update AFTER UPDATE ON orders
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('orders');
    CREATE TRIGGER noted_delete AFTER DELETE ON orders
      REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('orders');
    `,
  },
];
