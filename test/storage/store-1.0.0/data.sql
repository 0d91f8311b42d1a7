-- The data file of a store that version 1.0.0 made and served, as statements.
PRAGMA application_id = 1097749364;
PRAGMA user_version = 1;
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
INSERT INTO pets VALUES (1, 'Ozzy', -9223372036854775808, 'sold');
INSERT INTO pets VALUES (2, 'Großer Bär', -9223372036854775808, 'sold');
INSERT INTO pets VALUES (3, '猫', -9223372036854775808, 'sold');
INSERT INTO pets VALUES (4, 'imported', 1, 'available');
INSERT INTO accounts VALUES (1, 'default', 'free', NULL, NULL, 1795291164809);
INSERT INTO accounts VALUES (2, 'banned', 'enterprise', 1, 50, 1795291165201);
INSERT INTO keys VALUES (1, 1, 'first', '3bbdfef48a924e108fb003b19e636c1dab1703d09bacaf298fe70bd87ed971f5', 'P63r', 1795291164827, NULL, NULL);
INSERT INTO keys VALUES (2, 2, 'banned', '00a67b7499d873cde6c1d3d9703f26b2b3231e5a6472ed5e31741550cbc7daea', 'Lkj7', 1795291165203, NULL, NULL);
INSERT INTO imports VALUES ('137812a66b8a6a106b614c5f0c16b2212c8f12a5b56695f70b24291e5de3264d', 2, 1, 0, 1);
