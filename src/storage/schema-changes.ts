import type { Database } from 'bun:sqlite';
import { skippedIdsPerRestore, skippedIdsSpread } from '../tables/events.ts';

/** A schema change, as SQL for each engine that it affects, or as code if SQL cannot express a condition. */
interface SchemaChange {
  readonly sqlite?: string | ((database: Database) => void);
  /** Runs in a transaction, after the indexes were built. */
  readonly postgres?: string;
  /**
   * `CREATE INDEX` statements for tables of earlier steps. Running instances keep changing the tables while their
   * indexes are built.
   */
  readonly postgresIndexes?: string;
}

/**
 * Migration steps up to version 1.1.0, and those of the first days after its release. The first two were changed after
 * the release, so `addedTo11` completes the stores that 1.1.0 created.
 */
const changesOf11: readonly SchemaChange[] = [
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
      CREATE OR REPLACE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$
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
    CREATE OR REPLACE FUNCTION note_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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

const auditByOperation = `
  CREATE INDEX audit_by_operation ON audit (operation, at, id);
  CREATE INDEX audit_by_object_and_operation ON audit (object, operation, at, id);
  CREATE INDEX audit_by_actor_and_operation ON audit (actor, operation, at, id);
  CREATE INDEX audit_by_object_and_actor_and_operation ON audit (object, actor, operation, at, id);
`;

const readersOf = (position: 'instr' | 'strpos') =>
  [
    ['pets', 'pets:read'],
    ['orders', 'orders:read'],
    ['webhooks', 'webhooks:write'],
  ]
    .map(
      ([name, scope]) => `
      CREATE INDEX event_readers_of_${name} ON keys (account_id, (coalesce(expires_at, 9223372036854775807)))
      WHERE revoked_at IS NULL AND ${position}(scopes, 'events:read') > 0 AND ${position}(scopes, '${scope}') > 0;`,
    )
    .join('');

const dueByScope = `
  CREATE INDEX due_deliveries_by_scope ON deliveries (webhook_id, (CASE WHEN substr(type, 1, 6) = 'order.'
    THEN 'orders:read' WHEN substr(type, 1, 8) = 'webhook.' THEN 'webhooks:write' ELSE 'pets:read' END), next_attempt_at, id)
  WHERE status = 'pending';
`;

const dueByEventScope = `
  CREATE INDEX due_deliveries_by_event_scope ON deliveries (webhook_id, (CASE WHEN substr(type, 1, 4) = 'pet.' THEN 'pets:read'
    WHEN substr(type, 1, 5) = 'pets.' THEN 'pets:read' WHEN substr(type, 1, 6) = 'order.' THEN 'orders:read'
    WHEN substr(type, 1, 9) = 'category.' THEN 'pets:read' WHEN substr(type, 1, 8) = 'webhook.' THEN 'webhooks:write' END),
    next_attempt_at, id)
  WHERE status = 'pending';
`;

const addedIndexes = (id: '' | ', id') => `
  CREATE INDEX webhooks_by_state ON webhooks (enabled${id});
  CREATE INDEX webhooks_by_account_and_state ON webhooks (account_id, enabled${id});
  CREATE INDEX leased_deliveries ON deliveries (webhook_id, leased_until) WHERE leased_until IS NOT NULL;
`;

/** Columns and indexes that are missing from stores of release 1.1.0. Stores of later versions have them. */
const addedTo11: SchemaChange = {
  sqlite: (database) => {
    const columns = database.query("SELECT 1 FROM pragma_table_info('webhooks') WHERE name = 'succeeded_at'");
    if (columns.get() === null) database.run('ALTER TABLE webhooks ADD COLUMN succeeded_at INTEGER');
    database.run(addedIndexes('').replaceAll('CREATE INDEX', 'CREATE INDEX IF NOT EXISTS'));
    database.run('DROP INDEX IF EXISTS due_deliveries_by_webhook');
  },
  postgres: `
    ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS succeeded_at bigint;
    ALTER TABLE unnumbered_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
    DROP INDEX IF EXISTS due_deliveries_by_webhook;
  `,
  postgresIndexes: addedIndexes(', id'),
};

/**
 * Migration steps of both engines, which follow the earlier, engine-specific steps. Append new steps; never change
 * existing steps.
 */
export const schemaChanges: readonly SchemaChange[] = [
  ...changesOf11,
  {
    postgres: `
    -- Ranges of 16 ids: about the length of a page. Those of 128 made a change discard eight times as many pages.
    TRUNCATE changed_ranges;
    CREATE OR REPLACE FUNCTION note_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO changed_ranges (resource, range, version)
      SELECT TG_ARGV[0], ranges.range, counters.version
      FROM (SELECT DISTINCT id / 16 AS range FROM changed) AS ranges, counters WHERE counters.name = TG_ARGV[0]
      ON CONFLICT (resource, range) DO UPDATE SET version = excluded.version;
      RETURN NULL;
    END $$;
    `,
  },
  {
    postgres: `
    -- When the server was started that is the primary now. An instance writes it when it finds another server there, so that
    -- replicas of a former primary, or of another copy of the store, are not taken for replicas of this one.
    ALTER TABLE store ADD COLUMN primary_started text;
    `,
  },
  {
    sqlite: `
    CREATE TABLE usage_operation_hours (
      hour      INTEGER NOT NULL,
      operation TEXT NOT NULL,
      code      TEXT NOT NULL,
      requests  INTEGER NOT NULL,
      PRIMARY KEY (hour, operation, code)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE latency_minutes (
      minute   INTEGER NOT NULL,
      bucket   INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (minute, bucket)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE latency_hours (
      hour     INTEGER NOT NULL,
      bucket   INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (hour, bucket)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage_key_operations (
      day       INTEGER NOT NULL,
      key_id    INTEGER NOT NULL,
      operation TEXT NOT NULL,
      requests  INTEGER NOT NULL,
      PRIMARY KEY (day, key_id, operation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX usage_key_operations_by_key ON usage_key_operations (key_id, day);
    INSERT INTO usage_operation_hours (hour, operation, code, requests)
    SELECT minute - minute % 3600000, operation, code, sum(requests) FROM usage_minutes GROUP BY 1, 2, 3;
    CREATE UNIQUE INDEX keys_by_successor ON keys (successor_id);
    `,
    postgres: `
    -- Rows are overwritten every few seconds; with free space on a page, the indexes need no change.
    CREATE TABLE usage_operation_hours (
      hour      bigint NOT NULL,
      operation text   COLLATE "C" NOT NULL,
      code      text   COLLATE "C" NOT NULL,
      requests  bigint NOT NULL,
      PRIMARY KEY (hour, operation, code)
    ) WITH (fillfactor = 70);
    CREATE TABLE latency_minutes (
      minute   bigint NOT NULL,
      bucket   bigint NOT NULL,
      requests bigint NOT NULL,
      PRIMARY KEY (minute, bucket)
    ) WITH (fillfactor = 70);
    CREATE TABLE latency_hours (
      hour     bigint NOT NULL,
      bucket   bigint NOT NULL,
      requests bigint NOT NULL,
      PRIMARY KEY (hour, bucket)
    ) WITH (fillfactor = 70);
    CREATE TABLE usage_key_operations (
      day       bigint NOT NULL,
      key_id    bigint NOT NULL,
      operation text   COLLATE "C" NOT NULL,
      requests  bigint NOT NULL,
      PRIMARY KEY (day, key_id, operation)
    ) WITH (fillfactor = 70);
    CREATE INDEX usage_key_operations_by_key ON usage_key_operations (key_id, day);
    INSERT INTO usage_operation_hours (hour, operation, code, requests)
    SELECT minute - minute % 3600000, operation, code, sum(requests) FROM usage_minutes GROUP BY 1, 2, 3;
    `,
    postgresIndexes: 'CREATE UNIQUE INDEX keys_by_successor ON keys (successor_id)',
  },
  {
    // For operators who search for an order by its client-assigned reference.
    sqlite: 'CREATE INDEX orders_by_reference ON orders (reference) WHERE reference IS NOT NULL;',
    postgresIndexes:
      'CREATE INDEX orders_by_reference ON orders (reference COLLATE "C", id) WHERE reference IS NOT NULL;',
  },
  {
    sqlite: auditByOperation,
    postgresIndexes: auditByOperation,
  },
  {
    postgres: `
    -- The target of a copy is not served until the copy is verified. A data file of SQLite says so by its application id.
    ALTER TABLE store ADD COLUMN is_unfinished_copy boolean NOT NULL DEFAULT false;
    `,
  },
  {
    sqlite: 'ALTER TABLE accounts ADD COLUMN note TEXT;',
    postgres: 'ALTER TABLE accounts ADD COLUMN note text;',
  },
  {
    postgres: `
    -- Moves committed events to the table of events, at most 400 of them, and returns how many.
    CREATE OR REPLACE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$
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
        -- As an array, because a join would read the whole backlog for each event while statistics say it is empty.
        WHERE number = ANY (ARRAY(SELECT number FROM unnumbered_events ORDER BY number LIMIT 400))
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
    $$;
    `,
  },
  {
    postgres: `
    -- After a failover to a replica that lacked the last changes, their ids must not be assigned again: clients, receivers
    -- of webhooks and readers of events know them. A trigger raises a counter on its first change in another history, so
    -- that no writer can reuse an id, such as a command, or an instance that has not detected the failover. The gap is
    -- larger than the number of rows that can be lost, and extends to the time in microseconds, so that several
    -- histories that begin at the same point assign different ids.
    -- Returns NULL if the server does not report its timeline.
    CREATE OR REPLACE FUNCTION server_timeline() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
      RETURN left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN OTHERS THEN RETURN NULL;
    END $$;
    -- The system identifier, the OID of a table, which is different after a restore of a dump, and the timeline. Parts that
    -- the server does not report are empty.
    CREATE OR REPLACE FUNCTION server_history() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
      -- Reading the system identifier takes 40 microseconds. It is the same during a session.
      IF coalesce(current_setting('animal_store.system', true), '') = '' THEN
        IF has_function_privilege('pg_control_system()', 'EXECUTE') THEN
          PERFORM set_config('animal_store.system', system_identifier::text, false) FROM pg_control_system();
        ELSE
          PERFORM set_config('animal_store.system', '-', false);
        END IF;
      END IF;
      RETURN current_setting('animal_store.system') || '.' || 'counters'::regclass::oid || '/'
        || coalesce(server_timeline(), '');
    EXCEPTION WHEN OTHERS THEN RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION skip_lost_ids() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      current text := server_history();
    BEGIN
      IF current IS NOT NULL THEN
        -- Clients choose the ids of categories.
        IF OLD.history <> '' AND NEW.name <> 'categories' THEN
          NEW.last := greatest(NEW.last + 1000000000,
            NEW.last - OLD.last + (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
        END IF;
        NEW.history := current;
      END IF;
      RETURN NEW;
    END $$;
    -- The result of server_history() when the counter was last changed; empty if it is unknown.
    ALTER TABLE counters ADD COLUMN history text NOT NULL DEFAULT '';
    UPDATE counters SET history = coalesce(server_history(), '');
    -- A mark of the primary that instances serve. See postgres/lineage.ts.
    ALTER TABLE store ADD COLUMN lineage text;
    CREATE TRIGGER skip_lost_ids BEFORE UPDATE ON counters FOR EACH ROW
      WHEN (NEW.history IS DISTINCT FROM server_history()) EXECUTE FUNCTION skip_lost_ids();
    `,
  },
  {
    postgres: `
    -- The identity of Redis as each process reads it, to detect instances that use different servers. Times are Unix ms.
    CREATE TABLE redis_readings (
      process    text   PRIMARY KEY,
      origin     text   NOT NULL,
      server     text   NOT NULL,
      since      bigint NOT NULL,
      read_from  bigint NOT NULL,
      read_until bigint NOT NULL
    );
    `,
  },
  {
    // An event is sent only while its account has an active key that may read it. Each index answers this for a scope with
    // one look-up, however many keys the account has had.
    sqlite: readersOf('instr'),
    postgresIndexes: readersOf('strpos'),
  },
  { sqlite: dueByScope, postgresIndexes: dueByScope },
  { sqlite: 'DROP INDEX due_deliveries;', postgres: 'DROP INDEX due_deliveries;' },
  {
    // The accounts of earlier webhooks get their rows when a process begins to send (`addPaces`).
    sqlite: `
    ALTER TABLE webhooks ADD COLUMN redelivering_to INTEGER;
    CREATE TABLE webhook_paces (
      account_id  INTEGER PRIMARY KEY,
      -- Unix microseconds.
      paced_until INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TRIGGER paced_webhooks AFTER INSERT ON webhooks BEGIN
      INSERT INTO webhook_paces (account_id) VALUES (new.account_id) ON CONFLICT DO NOTHING;
    END;
    `,
    postgres: `
    ALTER TABLE webhooks ADD COLUMN redelivering_to bigint;
    -- Rows are overwritten many times a second; with free space on a page, the index needs no change.
    CREATE TABLE webhook_paces (
      account_id  bigint PRIMARY KEY,
      -- Unix microseconds.
      paced_until bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    -- A trigger, so that webhooks created by an instance of an older version have a row.
    CREATE OR REPLACE FUNCTION pace_webhook() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO webhook_paces (account_id) VALUES (NEW.account_id) ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
    CREATE TRIGGER paced_webhooks AFTER INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION pace_webhook();
    `,
  },
  addedTo11,
  {
    postgres: `
    -- The sum of all steps of the server's clock (ms), which the ages of stored responses and sessions leave out. See
    -- postgres/server-clock.ts.
    ALTER TABLE store ADD COLUMN clock_steps_ms bigint NOT NULL DEFAULT 0;
    `,
  },
  {
    postgres: `
    -- The gap is different each time, even if copies of the same state are promoted or restored twice within 1,000 s of the last gap, or at the same time on two servers. See restoreGap in tables/events.ts.
    CREATE OR REPLACE FUNCTION skip_lost_ids() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      current text := server_history();
    BEGIN
      IF current IS NOT NULL THEN
        -- Clients choose the ids of categories.
        IF OLD.history <> '' AND NEW.name <> 'categories' THEN
          NEW.last := greatest(OLD.last, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
            + ${skippedIdsPerRestore} + floor(random() * ${skippedIdsSpread})::bigint + NEW.last - OLD.last;
        END IF;
        NEW.history := current;
      END IF;
      RETURN NEW;
    END $$;
    `,
  },
  {
    postgres: `
    -- Running instances of version 1.1.0, which lock counters before rows: see groups/statement.ts. Later versions mark the
    -- store (lineage).
    CREATE TABLE former_instances (
      name       text   COLLATE "C" PRIMARY KEY,
      started_at bigint NOT NULL
    );
    INSERT INTO former_instances
      SELECT name, started_at FROM instances WHERE seen_at > 0 AND (SELECT lineage FROM store) IS NULL;
    `,
  },
  {
    postgres: `
    -- Processes of earlier versions count as confirmed.
    ALTER TABLE redis_readings ADD COLUMN is_confirmed boolean NOT NULL DEFAULT true;
    `,
  },
  {
    // In `due_deliveries_by_scope`, events of unknown groups required the scope of animals.
    sqlite: `${dueByEventScope} DROP INDEX due_deliveries_by_scope;`,
    postgres: 'DROP INDEX due_deliveries_by_scope;',
    postgresIndexes: `${dueByEventScope} CREATE INDEX current_bans ON ban_snapshots (banned_until) WHERE banned_until > 0`,
  },
];
