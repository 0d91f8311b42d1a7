import type { SQL } from 'bun';
import { folded } from '../../tables/accounts.ts';

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

export const operatorTables = `
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
export async function foldNames(transaction: SQL): Promise<void> {
  for (let last = 0n; ; ) {
    const accounts = await transaction<{ id: bigint; name: string }[]>`
      SELECT id, name FROM accounts WHERE id > ${last} ORDER BY id LIMIT ${foldBatch}`;
    const names = JSON.stringify(accounts.map(({ id, name }) => [String(id), folded(name)]));
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
    CREATE FUNCTION fold_name() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.name_folded := lower(
        CASE WHEN getdatabaseencoding() = 'UTF8' THEN normalize(NEW.name, NFKC) ELSE NEW.name END
      );
      RETURN NEW;
    END $$;
    CREATE TRIGGER folded BEFORE INSERT ON accounts
      FOR EACH ROW WHEN (NEW.name_folded IS NULL) EXECUTE FUNCTION fold_name()`);
}
