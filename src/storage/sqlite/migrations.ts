import type { Database } from 'bun:sqlite';
import { foldCase } from '../../tables/accounts.ts';
import { schemaChanges } from '../schema-changes.ts';
import type { Migrations } from './database.ts';

/** Migration steps of the data file. Add new steps to `schema-changes.ts`. */
export const dataMigrations: Migrations = [
  `
  CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
  ) STRICT;
  -- Every index of SQLite ends with the id, so this one lists a status by ascending id.
  CREATE INDEX pets_by_status ON pets (status);

  CREATE TABLE accounts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL,
    plan       TEXT    NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
    -- Only enterprise accounts bring their own limits; the other plans' stand in the code.
    per_minute INTEGER CHECK ((per_minute IS NOT NULL) = (plan = 'enterprise')),
    per_day    INTEGER CHECK ((per_day IS NOT NULL) = (plan = 'enterprise')),
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE keys (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id  INTEGER NOT NULL REFERENCES accounts (id),
    name        TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL UNIQUE,
    last_four   TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER
  ) STRICT;

  CREATE TABLE imports (
    source    TEXT    NOT NULL PRIMARY KEY,
    last_line INTEGER NOT NULL,
    added     INTEGER NOT NULL,
    rejected  INTEGER NOT NULL,
    finished  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The key that replaced it. A key is rotated only once.
  ALTER TABLE keys ADD COLUMN successor_id INTEGER;
  `,
  `
  -- Raised by every change of a resource, in its transaction, so that cached data is read again.
  CREATE TABLE versions (
    resource TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO versions VALUES ('callers', 1), ('pets', 1);
  `,
  `
  -- Keys created before scopes existed keep their permissions.
  ALTER TABLE keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'pets:read pets:create';

  -- A filter by category only reads its three statuses, each by ascending id.
  CREATE INDEX pets_by_category ON pets (category_id, status);

  -- The number of animals in each status, maintained in the transaction of every change of an animal.
  CREATE TABLE inventory (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    available INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    sold      INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE inventory_by_category (
    category_id INTEGER PRIMARY KEY,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL
  ) STRICT;
  INSERT INTO inventory_by_category
    SELECT category_id, sum(status = 'available'), sum(status = 'pending'), sum(status = 'sold')
    FROM pets GROUP BY category_id;
  INSERT INTO inventory
    SELECT 1, coalesce(sum(available), 0), coalesce(sum(pending), 0), coalesce(sum(sold), 0)
    FROM inventory_by_category;

  CREATE TABLE categories (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL
  ) STRICT;

  CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Orders outlive their animal.
    pet_id     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'returned', 'cancelled')),
    reference  TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  -- An animal is reserved by at most one order.
  CREATE UNIQUE INDEX open_orders ON orders (pet_id) WHERE status IN ('placed', 'approved');
  CREATE INDEX orders_by_status ON orders (status);
  CREATE INDEX orders_by_pet ON orders (pet_id, status);

  CREATE TABLE idempotent_answers (
    -- The account's id, a colon and the key.
    id       TEXT    NOT NULL PRIMARY KEY,
    request  TEXT    NOT NULL,
    status   INTEGER NOT NULL,
    body     TEXT,
    location TEXT,
    kept_at  INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX idempotent_answers_by_age ON idempotent_answers (kept_at);

  INSERT INTO versions VALUES ('orders', 1), ('categories', 1);

  -- The highest id assigned by each table, as a table that can be copied.
  CREATE VIEW counters (name, last) AS SELECT name, seq FROM sqlite_sequence WHERE seq > 0;
  CREATE TRIGGER counters_insert INSTEAD OF INSERT ON counters BEGIN
    SELECT RAISE(ABORT, 'this table counts already')
      WHERE EXISTS (SELECT 1 FROM counters WHERE name = new.name);
    DELETE FROM sqlite_sequence WHERE name = new.name;
    INSERT INTO sqlite_sequence (name, seq) VALUES (new.name, new.last);
  END;
  `,
  addFrontDesk,
  ...schemaChanges.flatMap(({ sqlite }) => sqlite ?? []),
];

function addFrontDesk(database: Database): void {
  database.run(accounts);
  const names = database.query<{ id: bigint; name: string }, []>('SELECT id, name FROM accounts').all();
  const fold = database.query<never, [string, bigint]>('UPDATE accounts SET name_folded = ? WHERE id = ?');
  for (const { id, name } of names) fold.run(foldCase(name), id);
  for (const statements of [accountIndexes, operators, audit, usage]) database.run(statements);
}

const accounts = `
  -- Names as they are searched and sorted: see caseFolded().
  ALTER TABLE accounts ADD COLUMN name_folded TEXT NOT NULL DEFAULT '';
  ALTER TABLE accounts ADD COLUMN closed_at INTEGER;
`;

const accountIndexes = `
  CREATE INDEX accounts_by_name ON accounts (name_folded, id);
  CREATE INDEX accounts_by_state ON accounts ((closed_at IS NULL), id);
  CREATE INDEX accounts_by_state_and_name ON accounts ((closed_at IS NULL), name_folded, id);
  CREATE INDEX keys_by_account ON keys (account_id);
`;

const operators = `
  CREATE TABLE operators (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('viewer', 'admin')),
    fingerprint TEXT    NOT NULL UNIQUE,
    last_four   TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    revoked_at  INTEGER
  ) STRICT;
  -- The name of a revoked operator can be assigned again.
  CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE revoked_at IS NULL;

  CREATE TABLE sessions (
    fingerprint TEXT    NOT NULL PRIMARY KEY,
    operator_id INTEGER REFERENCES operators (id),
    actor       TEXT    NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('viewer', 'admin')),
    used_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_operator ON sessions (operator_id);
  CREATE INDEX sessions_by_use ON sessions (used_at);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  CREATE TABLE instances (
    name       TEXT    NOT NULL PRIMARY KEY,
    version    TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

const audit = `
  CREATE TABLE audit (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    operation TEXT    NOT NULL,
    object    TEXT    NOT NULL,
    before    TEXT,
    after     TEXT
  ) STRICT;
  CREATE INDEX audit_by_time ON audit (at, id);
  CREATE INDEX audit_by_actor ON audit (actor, at, id);
  CREATE INDEX audit_by_object ON audit (object, at, id);
  CREATE INDEX audit_by_object_and_actor ON audit (object, actor, at, id);
`;

/**
 * Rows of the current period are adjacent. Accounts and keys share one index, because a second index would cost an
 * additional page write per key and hour.
 */
const usageOfKeys = (table: string, period: 'hour' | 'day') => `
  CREATE TABLE ${table} (
    ${period}     INTEGER NOT NULL,
    key_id        INTEGER NOT NULL,
    account_id    INTEGER NOT NULL,
    ok            INTEGER NOT NULL,
    refused       INTEGER NOT NULL,
    limited       INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    deprecated    INTEGER NOT NULL,
    last_used_at  INTEGER NOT NULL,
    PRIMARY KEY (${period}, key_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ${table}_by_owner ON ${table} (account_id, key_id, ${period});
`;

const usage = `
  CREATE TABLE usage_minutes (
    minute    INTEGER NOT NULL,
    operation TEXT    NOT NULL,
    code      TEXT    NOT NULL,
    requests  INTEGER NOT NULL,
    PRIMARY KEY (minute, operation, code)
  ) STRICT, WITHOUT ROWID;
  ${usageOfKeys('usage_hours', 'hour')}
  ${usageOfKeys('usage_days', 'day')}
  -- Partial, because few keys call deprecated operations.
  CREATE INDEX usage_days_deprecated ON usage_days (day, key_id) WHERE deprecated > 0;
`;
