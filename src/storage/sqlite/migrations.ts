import { schemaChanges } from '../schema-changes.ts';
import type { Migrations } from './database.ts';
import { addFrontDesk } from './front-desk-migration.ts';

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
