import type { Format, Migrations } from './database.ts';

/** The data file. Steps are only ever appended. */
const dataMigrations: Migrations = [
  `
  CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
  ) STRICT;
  -- The id follows in every index of SQLite, so this one lists a status by ascending id.
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
  -- The key a key was rotated to: it is rotated once.
  ALTER TABLE keys ADD COLUMN successor_id INTEGER;
  `,
  `
  -- Rise with every change of a resource, in its transaction, so that what is held of it in memory is read again.
  CREATE TABLE versions (
    resource TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO versions VALUES ('callers', 1), ('pets', 1);
  `,
];

/** The limit file that versions before the mapped file had beside it; it is only read. */
const formerLimitMigrations: Migrations = [
  `
  -- Counts are reserved ahead: never below what was admitted.
  CREATE TABLE usage (
    account_id    INTEGER PRIMARY KEY,
    minute_opened INTEGER NOT NULL,
    minute_count  INTEGER NOT NULL,
    day_opened    INTEGER NOT NULL,
    day_count     INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE conduct (
    key_id       INTEGER PRIMARY KEY,
    strikes      TEXT    NOT NULL,
    banned_until INTEGER NOT NULL,
    ban_level    INTEGER NOT NULL
  ) STRICT;
  `,
];

export const dataFormat: Format = { migrations: dataMigrations, table: 'pets' };
export const formerLimitFormat: Format = { migrations: formerLimitMigrations, table: 'usage' };
