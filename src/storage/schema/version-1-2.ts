/** Changes of version 1.2.0. On PostgreSQL, instances of 1.1.0 keep serving requests during the upgrade. */
import { skippedIdsPerRestore, skippedIdsSpread } from '../../tables/events.ts';
import { type Dialect, postgres, sqlite } from './dialects.ts';
import type { SchemaChange } from './schema-change.ts';

/** Tables that no instance uses yet. */
const tables = ({ integer, text, code, withKey, overwritten }: Dialect) => `
  CREATE TABLE usage_reports (
    process     ${text} NOT NULL PRIMARY KEY,
    number      ${integer} NOT NULL,
    reported_at ${integer} NOT NULL
  ) ${withKey};
  CREATE TABLE usage_operation_hours (
    hour      ${integer} NOT NULL,
    operation ${code} NOT NULL,
    code      ${code} NOT NULL,
    requests  ${integer} NOT NULL,
    PRIMARY KEY (hour, operation, code)
  ) ${overwritten};
  CREATE TABLE latency_minutes (
    minute   ${integer} NOT NULL,
    bucket   ${integer} NOT NULL,
    requests ${integer} NOT NULL,
    PRIMARY KEY (minute, bucket)
  ) ${overwritten};
  CREATE TABLE latency_hours (
    hour     ${integer} NOT NULL,
    bucket   ${integer} NOT NULL,
    requests ${integer} NOT NULL,
    PRIMARY KEY (hour, bucket)
  ) ${overwritten};
  CREATE TABLE usage_key_operations (
    day       ${integer} NOT NULL,
    key_id    ${integer} NOT NULL,
    operation ${code} NOT NULL,
    requests  ${integer} NOT NULL,
    PRIMARY KEY (day, key_id, operation)
  ) ${overwritten};
  CREATE INDEX usage_key_operations_by_key ON usage_key_operations (key_id, day);
  INSERT INTO usage_operation_hours (hour, operation, code, requests)
  SELECT minute - minute % 3600000, operation, code, sum(requests) FROM usage_minutes GROUP BY 1, 2, 3;
`;

const columns = ({ integer, text }: Dialect) => `
  ALTER TABLE accounts ADD COLUMN note ${text};
  ALTER TABLE webhooks ADD COLUMN succeeded_at ${integer};
  ALTER TABLE webhooks ADD COLUMN redelivering_to ${integer};
`;

const eventReaders = ({ position }: Dialect, name: string, scope: string) => `
  CREATE INDEX event_readers_of_${name} ON keys (account_id, (coalesce(expires_at, 9223372036854775807)))
  WHERE revoked_at IS NULL AND ${position}(scopes, 'events:read') > 0 AND ${position}(scopes, '${scope}') > 0;`;

/** Indexes on tables of version 1.1.0. */
const indexes = (dialect: Dialect) => `
  CREATE UNIQUE INDEX keys_by_successor ON keys (successor_id);
  CREATE INDEX audit_by_operation ON audit (operation, at, id);
  CREATE INDEX audit_by_object_and_operation ON audit (object, operation, at, id);
  CREATE INDEX audit_by_actor_and_operation ON audit (actor, operation, at, id);
  CREATE INDEX audit_by_object_and_actor_and_operation ON audit (object, actor, operation, at, id);
  CREATE INDEX webhooks_by_state ON webhooks (enabled${dialect.andId});
  CREATE INDEX webhooks_by_account_and_state ON webhooks (account_id, enabled${dialect.andId});
  CREATE INDEX leased_deliveries ON deliveries (webhook_id, leased_until) WHERE leased_until IS NOT NULL;
  CREATE INDEX due_deliveries_by_event_scope ON deliveries (webhook_id, (CASE WHEN substr(type, 1, 4) = 'pet.' THEN 'pets:read'
    WHEN substr(type, 1, 5) = 'pets.' THEN 'pets:read' WHEN substr(type, 1, 6) = 'order.' THEN 'orders:read'
    WHEN substr(type, 1, 9) = 'category.' THEN 'pets:read' WHEN substr(type, 1, 8) = 'webhook.' THEN 'webhooks:write' END),
    next_attempt_at, id)
  WHERE status = 'pending';

  ${eventReaders(dialect, 'pets', 'pets:read')}
  ${eventReaders(dialect, 'orders', 'orders:read')}
  ${eventReaders(dialect, 'webhooks', 'webhooks:write')}
`;

const notedChanges = (table: string) => `
  CREATE TRIGGER noted_insert AFTER INSERT ON ${table}
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('${table}');
  CREATE TRIGGER noted_update AFTER UPDATE ON ${table}
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('${table}');
  CREATE TRIGGER noted_delete AFTER DELETE ON ${table}
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_changed('${table}');
`;

const changedRanges = `
  -- The version that the last change of a row with an id in a range gave its resource. Triggers write it, so that no writer
  -- can miss it, such as an instance of an older version. A range of 16 ids is about as long as a page. The embedded store
  -- does not need this table, because rereading a page takes less time than checking whether it changed.
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
    FROM (SELECT DISTINCT id / 16 AS range FROM changed) AS ranges, counters WHERE counters.name = TG_ARGV[0]
    ON CONFLICT (resource, range) DO UPDATE SET version = excluded.version;
    RETURN NULL;
  END $$;
  ${['pets', 'orders'].map(notedChanges).join('')}
`;

const eventNumbers = `
  -- Rows stay for a moment only, so the table is vacuumed by their number, not by its size.
  ALTER TABLE unnumbered_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
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
`;

const histories = `
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
  -- The gap is different each time, even if copies of the same state are promoted or restored twice within 1,000 s of the
  -- last gap, or at the same time on two servers. See restoreGap in tables/events.ts.
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
  -- The result of server_history() when the counter was last changed; empty if it is unknown.
  ALTER TABLE counters ADD COLUMN history text NOT NULL DEFAULT '';
  UPDATE counters SET history = coalesce(server_history(), '');
  CREATE TRIGGER skip_lost_ids BEFORE UPDATE ON counters FOR EACH ROW
    WHEN (NEW.history IS DISTINCT FROM server_history()) EXECUTE FUNCTION skip_lost_ids();
`;

const storeFacts = `
  ALTER TABLE store
    -- When the server was started that is the primary now. An instance writes it when it finds another server there, so that
    -- replicas of a former primary, or of another copy of the store, are not taken for replicas of this one.
    ADD COLUMN primary_started text,
    -- A mark of the primary that instances serve. See postgres/lineage.ts.
    ADD COLUMN lineage text,
    -- The target of a copy is not served until the copy is verified. A data file of SQLite says so by its application id.
    ADD COLUMN is_unfinished_copy boolean NOT NULL DEFAULT false,
    -- The sum of all steps of the server's clock (ms), which the ages of stored responses and sessions leave out. See
    -- postgres/server-clock.ts.
    ADD COLUMN clock_steps_ms bigint NOT NULL DEFAULT 0;

  -- Running instances of version 1.1.0, which lock counters before rows: see groups/statement.ts.
  CREATE TABLE former_instances (
    name       text   COLLATE "C" PRIMARY KEY,
    started_at bigint NOT NULL
  );
  INSERT INTO former_instances SELECT name, started_at FROM instances WHERE seen_at > 0;

  -- The identity of Redis as each process reads it, to detect instances that use different servers. Times are Unix ms.
  CREATE TABLE redis_readings (
    process    text   PRIMARY KEY,
    origin     text   NOT NULL,
    server     text   NOT NULL,
    since      bigint NOT NULL,
    read_from  bigint NOT NULL,
    read_until bigint NOT NULL,
    is_confirmed boolean NOT NULL DEFAULT true
  );
`;

export const version12: SchemaChange = {
  formats: { sqlite: 18, postgres: 32 },
  sqlite: `
  ${tables(sqlite)}
  ${columns(sqlite)}
  ${indexes(sqlite)}
  DROP INDEX IF EXISTS due_deliveries;
  DROP INDEX IF EXISTS due_deliveries_by_webhook;
  -- For operators who search for an order by its client-assigned reference.
  CREATE INDEX orders_by_reference ON orders (reference) WHERE reference IS NOT NULL;
  -- The accounts of earlier webhooks get their rows when a process begins to send (\`addPaces\`).
  CREATE TABLE webhook_paces (
    account_id  INTEGER PRIMARY KEY,
    -- Unix microseconds.
    paced_until INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TRIGGER paced_webhooks AFTER INSERT ON webhooks BEGIN
    INSERT INTO webhook_paces (account_id) VALUES (new.account_id) ON CONFLICT DO NOTHING;
  END;
  `,
  // Counters first: instances of 1.1.0 lock them before they change animals or orders, so adding triggers there does not
  // wait. Accounts last, because every request reads them.
  postgresLocks: 'counters, store, webhooks, deliveries, accounts',
  postgresIndexes: `
  CREATE INDEX orders_by_reference ON orders (reference COLLATE "C", id) WHERE reference IS NOT NULL;
  CREATE INDEX lifted_bans ON ban_snapshots (lifted_until) WHERE lifted_until > 0;
  CREATE INDEX current_bans ON ban_snapshots (banned_until) WHERE banned_until > 0;
  ${indexes(postgres)}
  `,
  postgresTables: tables(postgres),
  postgres: `
  ${columns(postgres)}
  ${changedRanges}
  ${eventNumbers}
  ${histories}
  ${storeFacts}
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
  -- Indexes of version 1.1.0, and its trigger for accounts that instances of 1.0.0 created. Other schemas in the search_path
  -- may contain other stores.
  DO $$ BEGIN
    EXECUTE format('DROP INDEX IF EXISTS %1$I.due_deliveries, %1$I.due_deliveries_by_webhook', current_schema());
    EXECUTE format('DROP FUNCTION IF EXISTS %I.fold_name CASCADE', current_schema());
  END $$;
  `,
};
