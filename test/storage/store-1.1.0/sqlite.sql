-- An empty store of the release 1.1.0 (format 7) with SQLite.
CREATE TABLE pets (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  category_id INTEGER NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE INDEX pets_by_status ON pets (status);
CREATE TABLE accounts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT    NOT NULL,
  plan       TEXT    NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
  per_minute INTEGER CHECK ((per_minute IS NOT NULL) = (plan = 'enterprise')),
  per_day    INTEGER CHECK ((per_day IS NOT NULL) = (plan = 'enterprise')),
  created_at INTEGER NOT NULL
, name_folded TEXT NOT NULL DEFAULT '', closed_at INTEGER) STRICT;
CREATE TABLE keys (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id  INTEGER NOT NULL REFERENCES accounts (id),
  name        TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL UNIQUE,
  last_four   TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER,
  revoked_at  INTEGER
, successor_id INTEGER, scopes TEXT NOT NULL DEFAULT 'pets:read pets:create') STRICT;
CREATE TABLE imports (
  source    TEXT    NOT NULL PRIMARY KEY,
  last_line INTEGER NOT NULL,
  added     INTEGER NOT NULL,
  rejected  INTEGER NOT NULL,
  finished  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE versions (
  resource TEXT    NOT NULL PRIMARY KEY,
  version  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pets_by_category ON pets (category_id, status);
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
CREATE TABLE categories (
  id   INTEGER PRIMARY KEY,
  name TEXT    NOT NULL
) STRICT;
CREATE TABLE orders (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pet_id     INTEGER NOT NULL,
  status     TEXT    NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'returned', 'cancelled')),
  reference  TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX open_orders ON orders (pet_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_by_status ON orders (status);
CREATE INDEX orders_by_pet ON orders (pet_id, status);
CREATE TABLE idempotent_answers (
  id       TEXT    NOT NULL PRIMARY KEY,
  request  TEXT    NOT NULL,
  status   INTEGER NOT NULL,
  body     TEXT,
  location TEXT,
  kept_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (kept_at);
CREATE INDEX accounts_by_name ON accounts (name_folded, id);
CREATE INDEX accounts_by_state ON accounts ((closed_at IS NULL), id);
CREATE INDEX accounts_by_state_and_name ON accounts ((closed_at IS NULL), name_folded, id);
CREATE INDEX keys_by_account ON keys (account_id);
CREATE TABLE operators (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  role        TEXT    NOT NULL CHECK (role IN ('viewer', 'admin')),
  fingerprint TEXT    NOT NULL UNIQUE,
  last_four   TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  revoked_at  INTEGER
) STRICT;
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
CREATE TABLE usage_minutes (
  minute    INTEGER NOT NULL,
  operation TEXT    NOT NULL,
  code      TEXT    NOT NULL,
  requests  INTEGER NOT NULL,
  PRIMARY KEY (minute, operation, code)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_hours (
  hour     INTEGER NOT NULL,
  key_id        INTEGER NOT NULL,
  account_id    INTEGER NOT NULL,
  ok            INTEGER NOT NULL,
  refused       INTEGER NOT NULL,
  limited       INTEGER NOT NULL,
  failed        INTEGER NOT NULL,
  deprecated    INTEGER NOT NULL,
  last_used_at  INTEGER NOT NULL,
  PRIMARY KEY (hour, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hours_by_owner ON usage_hours (account_id, key_id, hour);
CREATE TABLE usage_days (
  day     INTEGER NOT NULL,
  key_id        INTEGER NOT NULL,
  account_id    INTEGER NOT NULL,
  ok            INTEGER NOT NULL,
  refused       INTEGER NOT NULL,
  limited       INTEGER NOT NULL,
  failed        INTEGER NOT NULL,
  deprecated    INTEGER NOT NULL,
  last_used_at  INTEGER NOT NULL,
  PRIMARY KEY (day, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_days_by_owner ON usage_days (account_id, key_id, day);
CREATE INDEX usage_days_deprecated ON usage_days (day, key_id) WHERE deprecated > 0;
CREATE TABLE events (
      id         INTEGER PRIMARY KEY AUTOINCREMENT,
      type       TEXT    NOT NULL,
      data       TEXT    NOT NULL,
      account_id INTEGER,
      created_at INTEGER NOT NULL
    ) STRICT;
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
    created_at          INTEGER NOT NULL
  ) STRICT;
CREATE INDEX webhooks_by_account ON webhooks (account_id);
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
CREATE INDEX due_deliveries ON deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX due_deliveries_by_webhook ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX finished_deliveries ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE VIEW counters (name, last) AS SELECT name, seq FROM sqlite_sequence WHERE seq > 0;
CREATE TRIGGER counters_insert INSTEAD OF INSERT ON counters BEGIN
  SELECT RAISE(ABORT, 'this table counts already')
    WHERE EXISTS (SELECT 1 FROM counters WHERE name = new.name);
  DELETE FROM sqlite_sequence WHERE name = new.name;
  INSERT INTO sqlite_sequence (name, seq) VALUES (new.name, new.last);
END;
INSERT OR REPLACE INTO versions VALUES ('callers', 1);
INSERT OR REPLACE INTO versions VALUES ('categories', 1);
INSERT OR REPLACE INTO versions VALUES ('orders', 1);
INSERT OR REPLACE INTO versions VALUES ('pets', 1);
INSERT OR REPLACE INTO versions VALUES ('webhooks', 1);
INSERT OR REPLACE INTO inventory VALUES (1, 0, 0, 0);
PRAGMA user_version = 7;
PRAGMA application_id = 1097749364;
