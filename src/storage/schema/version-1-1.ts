/**
 * Changes of version 1.1.0. What version 1.2.0 replaces is left out: functions, and indexes of due deliveries. Instances
 * of 1.0.0 must be stopped before the upgrade.
 */
import { type Dialect, postgres, sqlite } from './dialects.ts';
import type { SchemaChange } from './schema-change.ts';

const countedBy = (status: string) => `count(*) FILTER (WHERE status = '${status}')`;

const catalogue = ({ id, key, integer, text, code, withId, andId }: Dialect) => `
  ALTER TABLE keys ADD COLUMN successor_id ${integer};
  -- Keys created before scopes existed keep their permissions.
  ALTER TABLE keys ADD COLUMN scopes ${text} NOT NULL DEFAULT 'pets:read pets:create';
  CREATE INDEX keys_by_account ON keys (account_id${andId});

  -- Names as they are searched and sorted: see foldCase().
  ALTER TABLE accounts ADD COLUMN name_folded ${code} NOT NULL DEFAULT '';
  ALTER TABLE accounts ADD COLUMN closed_at ${integer};
  CREATE INDEX accounts_by_name ON accounts (name_folded, id);
  CREATE INDEX accounts_by_state ON accounts ((closed_at IS NULL), id);
  CREATE INDEX accounts_by_state_and_name ON accounts ((closed_at IS NULL), name_folded, id);

  -- A filter by category only reads its three statuses, each by ascending id.
  CREATE INDEX pets_by_category ON pets (category_id, status${andId});
  CREATE TABLE inventory_by_category (
    category_id ${key},
    available   ${integer} NOT NULL,
    pending     ${integer} NOT NULL,
    sold        ${integer} NOT NULL
  ) ${withId};
  INSERT INTO inventory_by_category (category_id, available, pending, sold)
    SELECT category_id, ${countedBy('available')}, ${countedBy('pending')}, ${countedBy('sold')}
    FROM pets GROUP BY category_id;
  INSERT INTO inventory (available, pending, sold)
    SELECT coalesce(sum(available), 0), coalesce(sum(pending), 0), coalesce(sum(sold), 0) FROM inventory_by_category;

  CREATE TABLE categories (
    id   ${key},
    name ${text} NOT NULL
  ) ${withId};

  CREATE TABLE orders (
    id         ${id},
    -- Orders outlive their animal.
    pet_id     ${integer} NOT NULL,
    status     ${text} NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'returned', 'cancelled')),
    reference  ${text},
    created_at ${integer} NOT NULL,
    updated_at ${integer} NOT NULL
  ) ${withId};
  -- An animal is reserved by at most one order.
  CREATE UNIQUE INDEX open_orders ON orders (pet_id) WHERE status IN ('placed', 'approved');
  CREATE INDEX orders_by_status ON orders (status${andId});
  CREATE INDEX orders_by_pet ON orders (pet_id, status${andId});

  CREATE TABLE idempotent_answers (
    -- The account's id, a colon and the key.
    id       ${code} NOT NULL PRIMARY KEY,
    request  ${text} NOT NULL,
    status   ${integer} NOT NULL,
    body     ${text},
    location ${text},
    kept_at  ${integer} NOT NULL
  ) ${withId};
  CREATE INDEX idempotent_answers_by_age ON idempotent_answers (kept_at);
`;

const operators = ({ id, integer, text, code, withId, withKey }: Dialect) => `
  CREATE TABLE operators (
    id          ${id},
    name        ${text} NOT NULL,
    role        ${text} NOT NULL CHECK (role IN ('viewer', 'admin')),
    fingerprint ${text} NOT NULL UNIQUE,
    last_four   ${text} NOT NULL,
    created_at  ${integer} NOT NULL,
    revoked_at  ${integer}
  ) ${withId};
  -- The name of a revoked operator can be assigned again.
  CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE revoked_at IS NULL;

  CREATE TABLE sessions (
    fingerprint ${code} NOT NULL PRIMARY KEY,
    operator_id ${integer} REFERENCES operators (id),
    actor       ${text} NOT NULL,
    role        ${text} NOT NULL CHECK (role IN ('viewer', 'admin')),
    used_at     ${integer} NOT NULL,
    expires_at  ${integer} NOT NULL
  ) ${withKey};

  CREATE TABLE instances (
    name       ${code} NOT NULL PRIMARY KEY,
    version    ${text} NOT NULL,
    started_at ${integer} NOT NULL,
    seen_at    ${integer} NOT NULL
  ) ${withKey};

  CREATE TABLE audit (
    id        ${id},
    at        ${integer} NOT NULL,
    actor     ${code} NOT NULL,
    operation ${text} NOT NULL,
    object    ${code} NOT NULL,
    before    ${text},
    after     ${text}
  ) ${withId};
  -- Indexes in the order of pages, for each filter.
  CREATE INDEX audit_by_time ON audit (at, id);
  CREATE INDEX audit_by_actor ON audit (actor, at, id);
  CREATE INDEX audit_by_object ON audit (object, at, id);
  CREATE INDEX audit_by_object_and_actor ON audit (object, actor, at, id);
`;

const usageOfKeys = ({ integer, overwritten }: Dialect, period: 'hour' | 'day') => `
  CREATE TABLE usage_${period}s (
    ${period}    ${integer} NOT NULL,
    key_id       ${integer} NOT NULL,
    account_id   ${integer} NOT NULL,
    ok           ${integer} NOT NULL,
    refused      ${integer} NOT NULL,
    limited      ${integer} NOT NULL,
    failed       ${integer} NOT NULL,
    deprecated   ${integer} NOT NULL,
    last_used_at ${integer} NOT NULL,
    PRIMARY KEY (${period}, key_id)
  ) ${overwritten};
`;

const usage = (dialect: Dialect) => `
  CREATE TABLE usage_minutes (
    minute    ${dialect.integer} NOT NULL,
    operation ${dialect.code} NOT NULL,
    code      ${dialect.code} NOT NULL,
    requests  ${dialect.integer} NOT NULL,
    PRIMARY KEY (minute, operation, code)
  ) ${dialect.overwritten};
  ${usageOfKeys(dialect, 'hour')}
  ${usageOfKeys(dialect, 'day')}
`;

const webhooks = ({ id, integer, boolean, text, withId, andId }: Dialect) => `
  CREATE TABLE events (
    id         ${id},
    type       ${text} NOT NULL,
    data       ${text} NOT NULL,
    account_id ${integer},
    created_at ${integer} NOT NULL
  ) ${withId};

  CREATE TABLE webhooks (
    id                  ${id},
    account_id          ${integer} NOT NULL,
    url                 ${text} NOT NULL,
    types               ${text} NOT NULL,
    description         ${text},
    enabled             ${boolean} NOT NULL,
    disabled_reason     ${text},
    secret              ${text} NOT NULL,
    former_secret       ${text},
    former_secret_until ${integer},
    position            ${integer} NOT NULL,
    created_at          ${integer} NOT NULL
  ) ${withId};
  CREATE INDEX webhooks_by_account ON webhooks (account_id${andId});

  CREATE TABLE deliveries (
    id              ${id},
    webhook_id      ${integer} NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id        ${integer} NOT NULL,
    type            ${text} NOT NULL,
    status          ${text} NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    attempts        ${text} NOT NULL,
    next_attempt_at ${integer},
    leased_until    ${integer},
    created_at      ${integer} NOT NULL,
    finished_at     ${integer}
  ) ${withId};
  CREATE INDEX deliveries_by_status ON deliveries (status${andId});
  CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, status${andId});
  CREATE INDEX finished_deliveries ON deliveries (finished_at${andId}) WHERE finished_at IS NOT NULL;
`;

const shared = (dialect: Dialect) =>
  [catalogue, operators, usage, webhooks].map((part) => part(dialect)).join('');

export const version11: SchemaChange = {
  formats: { sqlite: 7, postgres: 10 },
  foldsNames: true,
  sqlite: `
  -- The number of animals in each status, maintained in the transaction of every change of an animal.
  CREATE TABLE inventory (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    available INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    sold      INTEGER NOT NULL
  ) STRICT;
  ${shared(sqlite)}
  CREATE INDEX sessions_by_operator ON sessions (operator_id);
  CREATE INDEX sessions_by_use ON sessions (used_at);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);
  -- Accounts and keys share one index, because a second index would cost an additional page write per key and hour.
  CREATE INDEX usage_hours_by_owner ON usage_hours (account_id, key_id, hour);
  CREATE INDEX usage_days_by_owner ON usage_days (account_id, key_id, day);
  -- Partial, because few keys call deprecated operations.
  CREATE INDEX usage_days_deprecated ON usage_days (day, key_id) WHERE deprecated > 0;

  -- Raised by every change of a resource, in its transaction, so that cached data is read again.
  CREATE TABLE versions (
    resource TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO versions VALUES ('callers', 1), ('pets', 1), ('orders', 1), ('categories', 1), ('webhooks', 1);
  -- The highest id assigned by each table, as a table that can be copied.
  CREATE VIEW counters (name, last) AS SELECT name, seq FROM sqlite_sequence WHERE seq > 0;
  CREATE TRIGGER counters_insert INSTEAD OF INSERT ON counters BEGIN
    SELECT RAISE(ABORT, 'this table counts already')
      WHERE EXISTS (SELECT 1 FROM counters WHERE name = new.name);
    DELETE FROM sqlite_sequence WHERE name = new.name;
    INSERT INTO sqlite_sequence (name, seq) VALUES (new.name, new.last);
  END;
  `,
  postgres: `
  -- The number of animals. Triggers maintain it, so that every writer counts: imports and copies as well. A single row
  -- causes no further contention or deadlock, because every writer of animals first locks the row "pets" of the counters
  -- until the commit, for ids without gaps.
  CREATE TABLE inventory (
    available bigint NOT NULL,
    pending   bigint NOT NULL,
    sold      bigint NOT NULL
  );
  ${shared(postgres)}
  CREATE INDEX usage_hours_by_account ON usage_hours (account_id, hour);
  CREATE INDEX usage_hours_by_key ON usage_hours (key_id, hour);
  CREATE INDEX usage_days_by_account ON usage_days (account_id, day);
  CREATE INDEX usage_days_by_key ON usage_days (key_id, day);
  CREATE INDEX usage_days_deprecated ON usage_days (day) WHERE deprecated > 0;
  ALTER TABLE accounts ALTER COLUMN name_folded DROP DEFAULT;

  CREATE OR REPLACE FUNCTION count_pets() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    sign bigint := TG_ARGV[0];
  BEGIN
    INSERT INTO inventory_by_category AS counted (category_id, available, pending, sold)
    SELECT category_id, sign * count(*) FILTER (WHERE status = 'available'),
           sign * count(*) FILTER (WHERE status = 'pending'), sign * count(*) FILTER (WHERE status = 'sold')
    FROM changed GROUP BY category_id
    ON CONFLICT (category_id) DO UPDATE SET
      available = counted.available + excluded.available,
      pending = counted.pending + excluded.pending, sold = counted.sold + excluded.sold;
    IF sign < 0 THEN
      DELETE FROM inventory_by_category
      WHERE category_id IN (SELECT category_id FROM changed) AND available = 0 AND pending = 0 AND sold = 0;
    END IF;
    UPDATE inventory SET
      available = inventory.available + sign * total.available,
      pending = inventory.pending + sign * total.pending, sold = inventory.sold + sign * total.sold
    FROM (
      SELECT count(*) FILTER (WHERE status = 'available') AS available,
             count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'sold') AS sold
      FROM changed
    ) AS total;
    RETURN NULL;
  END $$;
  CREATE TRIGGER added AFTER INSERT ON pets
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_pets('1');
  CREATE TRIGGER added_by_change AFTER UPDATE ON pets
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_pets('1');
  CREATE TRIGGER removed_by_change AFTER UPDATE ON pets
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_pets('-1');
  CREATE TRIGGER removed AFTER DELETE ON pets
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_pets('-1');

  -- Raised by every change of the resource. That of keys also covers plans and lifted bans.
  ALTER TABLE counters ADD COLUMN version bigint NOT NULL DEFAULT 0;
  -- Categories only need the version, because clients choose their ids.
  INSERT INTO counters (name, last) VALUES ('orders', 0), ('categories', 0), ('operators', 0), ('audit', 0), ('events', 0),
    ('webhooks', 0), ('deliveries', 0);
  -- Identifies this store. Its keys in Redis begin with the configured prefix and this id.
  CREATE TABLE store (
    id           text NOT NULL,
    redis_prefix text
  );
  INSERT INTO store (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
  -- The end of the last lifted ban, which the instance that decided it may save only after it was lifted.
  ALTER TABLE ban_snapshots ADD COLUMN lifted_until bigint NOT NULL DEFAULT 0;

  -- A transaction adds its events here, in no particular order of commits. The next reader numbers them: an id that a
  -- writer drew could become visible after a higher one.
  CREATE TABLE unnumbered_events (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type       text   NOT NULL,
    data       text   NOT NULL,
    account_id bigint,
    created_at bigint NOT NULL
  );
  `,
};
