-- A store on PostgreSQL of format 4, before there were orders: one key, and animals 1 to 5,000.
CREATE TABLE animal_store_format (version integer NOT NULL);
INSERT INTO animal_store_format VALUES (4);
CREATE TABLE counters (
  name text   PRIMARY KEY,
  last bigint NOT NULL
);
INSERT INTO counters (name, last) VALUES ('pets', 0), ('accounts', 0), ('keys', 0);

CREATE TABLE pets (
  id          bigint PRIMARY KEY,
  name        text   NOT NULL,
  category_id bigint NOT NULL,
  status      text   NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
);
CREATE INDEX pets_by_status ON pets (status, id);

CREATE TABLE accounts (
  id         bigint PRIMARY KEY,
  name       text   NOT NULL,
  plan       text   NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
  per_minute bigint CHECK ((per_minute IS NOT NULL) = (plan = 'enterprise')),
  per_day    bigint CHECK ((per_day IS NOT NULL) = (plan = 'enterprise')),
  created_at bigint NOT NULL
);

CREATE TABLE keys (
  id          bigint PRIMARY KEY,
  account_id  bigint NOT NULL REFERENCES accounts (id),
  name        text   NOT NULL,
  fingerprint text   NOT NULL UNIQUE,
  last_four   text   NOT NULL,
  created_at  bigint NOT NULL,
  expires_at  bigint,
  revoked_at  bigint
);

CREATE TABLE imports (
  source    text    PRIMARY KEY,
  last_line bigint  NOT NULL,
  added     bigint  NOT NULL,
  rejected  bigint  NOT NULL,
  finished  boolean NOT NULL
);

-- What Redis is given back after it lost its memory.
CREATE TABLE usage_snapshots (
  account_id    bigint PRIMARY KEY,
  minute_opened bigint NOT NULL,
  minute_count  bigint NOT NULL,
  day_opened    bigint NOT NULL,
  day_count     bigint NOT NULL
);
CREATE TABLE ban_snapshots (
  key_id       bigint PRIMARY KEY,
  account_id   bigint NOT NULL,
  banned_until bigint NOT NULL,
  ban_level    bigint NOT NULL
);
CREATE INDEX ban_snapshots_by_account ON ban_snapshots (account_id);
-- Rises with every change of what is counted; that of keys also with what they stand for: plans, bans that end.
ALTER TABLE counters ADD COLUMN version bigint NOT NULL DEFAULT 0;
-- What tells this store from every other: its keys in Redis begin with it, behind the prefix its instances use.
CREATE TABLE store (
  id           text NOT NULL,
  redis_prefix text
);
INSERT INTO store (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
-- The end of the ban that was lifted last: who decided it may come to save it only now.
ALTER TABLE ban_snapshots ADD COLUMN lifted_until bigint NOT NULL DEFAULT 0;
-- The key a key was rotated to: it is rotated once.
ALTER TABLE keys ADD COLUMN successor_id bigint;

INSERT INTO accounts (id, name, plan, created_at) VALUES (1, 'default', 'free', 1700000000000);
INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at)
VALUES (1, 1, 'till', 'old', 'wxyz', 1700000000000);
INSERT INTO pets (id, name, category_id, status)
SELECT id, 'animal ' || id, id % 7, CASE WHEN id % 5 = 0 THEN 'sold' WHEN id % 3 = 0 THEN 'pending' ELSE 'available' END
FROM generate_series(1, 5000) AS id;
UPDATE counters SET last = 1 WHERE name <> 'pets';
UPDATE counters SET last = 5000 WHERE name = 'pets';
