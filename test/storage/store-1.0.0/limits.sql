-- The limits file of a store that version 1.0.0 made and served, as statements.
PRAGMA application_id = 1097749364;
PRAGMA user_version = 1;
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
INSERT INTO usage VALUES (1, 1795291165, 3, 1795291165, 3);
INSERT INTO usage VALUES (2, 1795291165, 1, 1795291165, 1);
INSERT INTO conduct VALUES (2, '[]', 1795291286, 0);
