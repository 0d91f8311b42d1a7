import type { Database } from 'bun:sqlite';
import { folded } from '../../tables/accounts.ts';

export function addFrontDesk(database: Database): void {
  database.run(accounts);
  const names = database.query<{ id: bigint; name: string }, []>('SELECT id, name FROM accounts').all();
  const fold = database.query<never, [string, bigint]>('UPDATE accounts SET name_folded = ? WHERE id = ?');
  for (const { id, name } of names) fold.run(folded(name), id);
  for (const statements of [accountIndexes, operators, audit, usage]) database.run(statements);
}

const accounts = `
  -- Names as they are searched and sorted: see folded().
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
