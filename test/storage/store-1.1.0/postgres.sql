-- An empty store of the release 1.1.0 (format 10) on PostgreSQL.
CREATE TABLE animal_store_format (version integer NOT NULL);
INSERT INTO animal_store_format VALUES (10);

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

ALTER TABLE counters ADD COLUMN version bigint NOT NULL DEFAULT 0;

CREATE TABLE store (
  id           text NOT NULL,
  redis_prefix text
);
INSERT INTO store (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
ALTER TABLE ban_snapshots ADD COLUMN lifted_until bigint NOT NULL DEFAULT 0;

ALTER TABLE keys ADD COLUMN successor_id bigint;

CREATE TABLE inventory (
  available bigint NOT NULL,
  pending   bigint NOT NULL,
  sold      bigint NOT NULL
);
CREATE TABLE inventory_by_category (
  category_id bigint PRIMARY KEY,
  available   bigint NOT NULL,
  pending     bigint NOT NULL,
  sold        bigint NOT NULL
);
CREATE FUNCTION count_pets() RETURNS trigger LANGUAGE plpgsql AS $$
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
INSERT INTO inventory_by_category (category_id, available, pending, sold)
  SELECT category_id, count(*) FILTER (WHERE status = 'available'),
         count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'sold')
  FROM pets GROUP BY category_id;
INSERT INTO inventory (available, pending, sold)
  SELECT coalesce(sum(available), 0), coalesce(sum(pending), 0), coalesce(sum(sold), 0) FROM inventory_by_category;
CREATE INDEX pets_by_category ON pets (category_id, status, id);

CREATE TABLE categories (
  id   bigint PRIMARY KEY,
  name text   NOT NULL
);

CREATE TABLE orders (
  id         bigint PRIMARY KEY,
  pet_id     bigint NOT NULL,
  status     text   NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'returned', 'cancelled')),
  reference  text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX open_orders ON orders (pet_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_by_status ON orders (status, id);
CREATE INDEX orders_by_pet ON orders (pet_id, status, id);

CREATE TABLE idempotent_answers (
  id       text   COLLATE "C" PRIMARY KEY,
  request  text   NOT NULL,
  status   bigint NOT NULL,
  body     text,
  location text,
  kept_at  bigint NOT NULL
);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (kept_at);

INSERT INTO counters (name, last) VALUES ('orders', 0), ('categories', 0);

ALTER TABLE keys ADD COLUMN scopes text NOT NULL DEFAULT 'pets:read pets:create';

CREATE TABLE operators (
  id          bigint PRIMARY KEY,
  name        text   NOT NULL,
  role        text   NOT NULL CHECK (role IN ('viewer', 'admin')),
  fingerprint text   NOT NULL UNIQUE,
  last_four   text   NOT NULL,
  created_at  bigint NOT NULL,
  revoked_at  bigint
);
CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE revoked_at IS NULL;

CREATE TABLE sessions (
  fingerprint text   COLLATE "C" PRIMARY KEY,
  operator_id bigint,
  actor       text   NOT NULL,
  role        text   NOT NULL CHECK (role IN ('viewer', 'admin')),
  used_at     bigint NOT NULL,
  expires_at  bigint NOT NULL
);

CREATE TABLE audit (
  id        bigint PRIMARY KEY,
  at        bigint NOT NULL,
  actor     text   COLLATE "C" NOT NULL,
  operation text   NOT NULL,
  object    text   COLLATE "C" NOT NULL,
  before    text,
  after     text
);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_object ON audit (object, at, id);
CREATE INDEX audit_by_object_and_actor ON audit (object, actor, at, id);

CREATE TABLE usage_minutes (
  minute    bigint NOT NULL,
  operation text   COLLATE "C" NOT NULL,
  code      text   COLLATE "C" NOT NULL,
  requests  bigint NOT NULL,
  PRIMARY KEY (minute, operation, code)
) WITH (fillfactor = 70);

CREATE TABLE usage_hours (
  hour    bigint NOT NULL,
  key_id       bigint NOT NULL,
  account_id   bigint NOT NULL,
  ok           bigint NOT NULL,
  refused      bigint NOT NULL,
  limited      bigint NOT NULL,
  failed       bigint NOT NULL,
  deprecated   bigint NOT NULL,
  last_used_at bigint NOT NULL,
  PRIMARY KEY (hour, key_id)
) WITH (fillfactor = 70);
CREATE INDEX usage_hours_by_account ON usage_hours (account_id, hour);
CREATE INDEX usage_hours_by_key ON usage_hours (key_id, hour);


CREATE TABLE usage_days (
  day    bigint NOT NULL,
  key_id       bigint NOT NULL,
  account_id   bigint NOT NULL,
  ok           bigint NOT NULL,
  refused      bigint NOT NULL,
  limited      bigint NOT NULL,
  failed       bigint NOT NULL,
  deprecated   bigint NOT NULL,
  last_used_at bigint NOT NULL,
  PRIMARY KEY (day, key_id)
) WITH (fillfactor = 70);
CREATE INDEX usage_days_by_account ON usage_days (account_id, day);
CREATE INDEX usage_days_by_key ON usage_days (key_id, day);

CREATE INDEX usage_days_deprecated ON usage_days (day) WHERE deprecated > 0;

CREATE TABLE instances (
  name       text   COLLATE "C" PRIMARY KEY,
  version    text   NOT NULL,
  started_at bigint NOT NULL,
  seen_at    bigint NOT NULL
);

INSERT INTO counters (name, last) VALUES ('operators', 0), ('audit', 0);

CREATE INDEX keys_by_account ON keys (account_id, id);
ALTER TABLE accounts ADD COLUMN name_folded text COLLATE "C", ADD COLUMN closed_at bigint;

ALTER TABLE accounts ALTER COLUMN name_folded SET NOT NULL;
  CREATE INDEX accounts_by_name ON accounts (name_folded, id);
  CREATE INDEX accounts_by_state ON accounts ((closed_at IS NULL), id);
  CREATE INDEX accounts_by_state_and_name ON accounts ((closed_at IS NULL), name_folded, id);
  CREATE FUNCTION fold_name() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.name_folded := lower(
      CASE WHEN getdatabaseencoding() = 'UTF8' THEN normalize(NEW.name, NFKC) ELSE NEW.name END
    );
    RETURN NEW;
  END $$;
  CREATE TRIGGER folded BEFORE INSERT ON accounts
    FOR EACH ROW WHEN (NEW.name_folded IS NULL) EXECUTE FUNCTION fold_name();

ALTER TABLE sessions ADD FOREIGN KEY (operator_id) REFERENCES operators (id);

CREATE TABLE events (
      id         bigint PRIMARY KEY,
      type       text   NOT NULL,
      data       text   NOT NULL,
      account_id bigint,
      created_at bigint NOT NULL
    );
    INSERT INTO counters (name, last) VALUES ('events', 0);

    CREATE TABLE unnumbered_events (
      number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      type       text   NOT NULL,
      data       text   NOT NULL,
      account_id bigint,
      created_at bigint NOT NULL
    );

    CREATE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      numbered bigint;
    BEGIN
      IF NOT EXISTS (SELECT FROM unnumbered_events) THEN
        RETURN 0;
      END IF;
      PERFORM FROM counters WHERE name = 'events' FOR UPDATE;
      WITH taken AS (
        DELETE FROM unnumbered_events
        WHERE number IN (SELECT number FROM unnumbered_events ORDER BY number LIMIT 10000)
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

CREATE TABLE webhooks (
    id                  bigint  PRIMARY KEY,
    account_id          bigint  NOT NULL,
    url                 text    NOT NULL,
    types               text    NOT NULL,
    description         text,
    enabled             boolean NOT NULL,
    disabled_reason     text,
    secret              text    NOT NULL,
    former_secret       text,
    former_secret_until bigint,
    position            bigint  NOT NULL,
    created_at          bigint  NOT NULL
  );
  CREATE INDEX webhooks_by_account ON webhooks (account_id, id);

  CREATE TABLE deliveries (
    id              bigint PRIMARY KEY,
    webhook_id      bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id        bigint NOT NULL,
    type            text   NOT NULL,
    status          text   NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    attempts        text   NOT NULL,
    next_attempt_at bigint,
    leased_until    bigint,
    created_at      bigint NOT NULL,
    finished_at     bigint
  );
  CREATE INDEX deliveries_by_status ON deliveries (status, id);
  CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, status, id);
  CREATE INDEX due_deliveries ON deliveries (next_attempt_at, id) WHERE status = 'pending';
  CREATE INDEX due_deliveries_by_webhook ON deliveries (webhook_id, next_attempt_at, id) WHERE status = 'pending';
  CREATE INDEX finished_deliveries ON deliveries (finished_at, id) WHERE finished_at IS NOT NULL;

  INSERT INTO counters (name, last) VALUES ('webhooks', 0), ('deliveries', 0);
