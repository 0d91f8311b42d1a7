import type { SchemaChange } from './schema-change.ts';
import { changesOf11 } from './schema-changes-of-1.1.ts';

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

const addedIndexes = (id: '' | ', id') => `
  CREATE INDEX webhooks_by_state ON webhooks (enabled${id});
  CREATE INDEX webhooks_by_account_and_state ON webhooks (account_id, enabled${id});
  CREATE INDEX leased_deliveries ON deliveries (webhook_id, leased_until) WHERE leased_until IS NOT NULL;
`;

/** Columns and indexes that stores of the release 1.1.0 lack. Stores of later versions have them. */
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
        WHERE number IN (SELECT number FROM unnumbered_events ORDER BY number LIMIT 400)
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
    CREATE FUNCTION server_timeline() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
      RETURN left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN OTHERS THEN RETURN NULL;
    END $$;
    -- The system identifier, the OID of a table, which is different after a restore of a dump, and the timeline. Parts that
    -- the server does not report are empty.
    CREATE FUNCTION server_history() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
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
    CREATE FUNCTION skip_lost_ids() RETURNS trigger LANGUAGE plpgsql AS $$
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
    CREATE FUNCTION pace_webhook() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO webhook_paces (account_id) VALUES (NEW.account_id) ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
    CREATE TRIGGER paced_webhooks AFTER INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION pace_webhook();
    `,
  },
  addedTo11,
];
