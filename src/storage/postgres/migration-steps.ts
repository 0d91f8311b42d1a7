import type { SQL } from 'bun';
import { foldCase } from '../../tables/accounts.ts';
import { schemaChanges } from '../schema-changes.ts';
import { indexesIn, type NewIndex } from './index-builds.ts';

export interface MigrationStep {
  /** Built before the change, outside its transaction. */
  readonly indexes: readonly NewIndex[];
  /** SQL, or code if SQL would behave differently on different servers. */
  readonly change: string | ((transaction: SQL) => Promise<void>);
}

/** Applies a step whose indexes have been built. */
export async function apply({ change }: MigrationStep, transaction: SQL): Promise<void> {
  await (typeof change === 'string' ? transaction.unsafe(change) : change(transaction));
}

/** Applies a step and creates its indexes, in a store that no instance uses yet. */
export async function applyWithIndexes(step: MigrationStep, transaction: SQL): Promise<void> {
  for (const { create } of step.indexes) await transaction.unsafe(create);
  await apply(step, transaction);
}

const usageOfKeys = (period: 'hour' | 'day') => `
  CREATE TABLE usage_${period}s (
    ${period}    bigint NOT NULL,
    key_id       bigint NOT NULL,
    account_id   bigint NOT NULL,
    ok           bigint NOT NULL,
    refused      bigint NOT NULL,
    limited      bigint NOT NULL,
    failed       bigint NOT NULL,
    deprecated   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    PRIMARY KEY (${period}, key_id)
  ) WITH (fillfactor = 70);
  CREATE INDEX usage_${period}s_by_account ON usage_${period}s (account_id, ${period});
  CREATE INDEX usage_${period}s_by_key ON usage_${period}s (key_id, ${period});
`;

const operatorTables = `
  -- For operators: their accounts, the audit log, and usage.
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
  -- Indexes in the order of pages, for each filter.
  CREATE INDEX audit_by_time ON audit (at, id);
  CREATE INDEX audit_by_actor ON audit (actor, at, id);
  CREATE INDEX audit_by_object ON audit (object, at, id);
  CREATE INDEX audit_by_object_and_actor ON audit (object, actor, at, id);

  -- Usage rows are updated every few seconds. The fill factor leaves room for updates that change no index.
  CREATE TABLE usage_minutes (
    minute    bigint NOT NULL,
    operation text   COLLATE "C" NOT NULL,
    code      text   COLLATE "C" NOT NULL,
    requests  bigint NOT NULL,
    PRIMARY KEY (minute, operation, code)
  ) WITH (fillfactor = 70);
  ${usageOfKeys('hour')}
  ${usageOfKeys('day')}
  CREATE INDEX usage_days_deprecated ON usage_days (day) WHERE deprecated > 0;

  CREATE TABLE instances (
    name       text   COLLATE "C" PRIMARY KEY,
    version    text   NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL
  );

  INSERT INTO counters (name, last) VALUES ('operators', 0), ('audit', 0);

  -- Last, because it blocks look-ups of keys until the commit. Keys before accounts, the order in which keys are added.
  CREATE INDEX keys_by_account ON keys (account_id, id);
  ALTER TABLE accounts ADD COLUMN name_folded text COLLATE "C", ADD COLUMN closed_at bigint;
  `;

const foldBatch = 1_000;

/**
 * Case-folds the names of existing accounts. A trigger folds the names of accounts that older instances add, using the
 * server's locale.
 */
async function foldNames(transaction: SQL): Promise<void> {
  for (let last = 0n; ; ) {
    const accounts = await transaction<{ id: bigint; name: string }[]>`
      SELECT id, name FROM accounts WHERE id > ${last} ORDER BY id LIMIT ${foldBatch}`;
    const names = JSON.stringify(accounts.map(({ id, name }) => [String(id), foldCase(name)]));
    await transaction`
      UPDATE accounts SET name_folded = value->>1 FROM json_array_elements(${names}::text::json) AS folded (value)
      WHERE id = (value->>0)::bigint`;
    if (accounts.length < foldBatch) break;
    last = accounts.at(-1)?.id ?? last;
  }
  await transaction.unsafe(`
    ALTER TABLE accounts ALTER COLUMN name_folded SET NOT NULL;
    CREATE INDEX accounts_by_name ON accounts (name_folded, id);
    CREATE INDEX accounts_by_state ON accounts ((closed_at IS NULL), id);
    CREATE INDEX accounts_by_state_and_name ON accounts ((closed_at IS NULL), name_folded, id);
    CREATE OR REPLACE FUNCTION fold_name() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.name_folded := lower(
        CASE WHEN getdatabaseencoding() = 'UTF8' THEN normalize(NEW.name, NFKC) ELSE NEW.name END
      );
      RETURN NEW;
    END $$;
    CREATE TRIGGER folded BEFORE INSERT ON accounts
      FOR EACH ROW WHEN (NEW.name_folded IS NULL) EXECUTE FUNCTION fold_name()`);
}

const stepsWithoutIndexes: readonly MigrationStep['change'][] = [
  `
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

  -- State that is restored in a Redis that lost its data.
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
  `,
  `
  -- Raised by every change of the resource. That of keys also covers plans and lifted bans.
  ALTER TABLE counters ADD COLUMN version bigint NOT NULL DEFAULT 0;
  `,
  `
  -- Identifies this store. Its keys in Redis begin with the configured prefix and this id.
  CREATE TABLE store (
    id           text NOT NULL,
    redis_prefix text
  );
  INSERT INTO store (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
  -- The end of the last lifted ban, which the instance that decided it may save only after it was lifted.
  ALTER TABLE ban_snapshots ADD COLUMN lifted_until bigint NOT NULL DEFAULT 0;
  `,
  `
  -- The key that replaced it. A key is rotated only once.
  ALTER TABLE keys ADD COLUMN successor_id bigint;
  `,
  `
  -- The number of animals. Triggers maintain it, so that every writer counts: instances of an older version, imports,
  -- copies. A single row causes no further contention or deadlock, because every writer of animals first locks the row
  -- "pets" of the counters until the commit, for ids without gaps.
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
  -- Blocks other writers of animals until the commit, so that the counts include all animals.
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

  -- Orders outlive their animal.
  CREATE TABLE orders (
    id         bigint PRIMARY KEY,
    pet_id     bigint NOT NULL,
    status     text   NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'returned', 'cancelled')),
    reference  text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  );
  -- An animal is reserved by at most one order.
  CREATE UNIQUE INDEX open_orders ON orders (pet_id) WHERE status IN ('placed', 'approved');
  CREATE INDEX orders_by_status ON orders (status, id);
  CREATE INDEX orders_by_pet ON orders (pet_id, status, id);

  -- The responses of successes, for repetitions of the same request.
  CREATE TABLE idempotent_answers (
    -- The account's id, a colon and the key.
    id       text   COLLATE "C" PRIMARY KEY,
    request  text   NOT NULL,
    status   bigint NOT NULL,
    body     text,
    location text,
    kept_at  bigint NOT NULL
  );
  CREATE INDEX idempotent_answers_by_age ON idempotent_answers (kept_at);

  -- Categories only need the version, because clients choose their ids.
  INSERT INTO counters (name, last) VALUES ('orders', 0), ('categories', 0);

  -- Keys created before scopes existed keep their permissions. Last, because it blocks look-ups of keys until the
  -- commit.
  ALTER TABLE keys ADD COLUMN scopes text NOT NULL DEFAULT 'pets:read pets:create';
  `,
  operatorTables,
  foldNames,
  'ALTER TABLE sessions ADD FOREIGN KEY (operator_id) REFERENCES operators (id)',
];

/**
 * Add new steps to `schema-changes.ts`. A statement that inserts a row takes the row's id from `counters`. With a
 * sequence, a transaction could commit an id after readers have already seen a higher id.
 */
export const migrationSteps: readonly MigrationStep[] = [
  ...stepsWithoutIndexes.map((change) => ({ indexes: [], change })),
  ...schemaChanges.map(({ postgres = '', postgresIndexes = '' }) => ({
    indexes: indexesIn(postgresIndexes),
    change: postgres,
  })),
];
