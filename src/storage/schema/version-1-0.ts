/** The schema of version 1.0.0. */
import { type Dialect, postgres, sqlite } from './dialects.ts';
import type { SchemaChange } from './schema-change.ts';

const tables = ({ id, integer, boolean, text, withId, withKey, andId }: Dialect) => `
  CREATE TABLE pets (
    id          ${id},
    name        ${text} NOT NULL,
    category_id ${integer} NOT NULL,
    status      ${text} NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
  ) ${withId};
  CREATE INDEX pets_by_status ON pets (status${andId});

  CREATE TABLE accounts (
    id         ${id},
    name       ${text} NOT NULL,
    plan       ${text} NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
    -- Only enterprise accounts have their own limits. Those of the other plans are defined in the code.
    per_minute ${integer} CHECK ((per_minute IS NOT NULL) = (plan = 'enterprise')),
    per_day    ${integer} CHECK ((per_day IS NOT NULL) = (plan = 'enterprise')),
    created_at ${integer} NOT NULL
  ) ${withId};

  CREATE TABLE keys (
    id          ${id},
    account_id  ${integer} NOT NULL REFERENCES accounts (id),
    name        ${text} NOT NULL,
    fingerprint ${text} NOT NULL UNIQUE,
    last_four   ${text} NOT NULL,
    created_at  ${integer} NOT NULL,
    expires_at  ${integer},
    revoked_at  ${integer}
  ) ${withId};

  CREATE TABLE imports (
    source    ${text} NOT NULL PRIMARY KEY,
    last_line ${integer} NOT NULL,
    added     ${integer} NOT NULL,
    rejected  ${integer} NOT NULL,
    finished  ${boolean} NOT NULL
  ) ${withKey};
`;

export const version10: SchemaChange = {
  formats: { sqlite: 1, postgres: 1 },
  sqlite: tables(sqlite),
  postgres: `
  ${tables(postgres)}
  CREATE TABLE counters (
    name text   PRIMARY KEY,
    last bigint NOT NULL
  );
  INSERT INTO counters (name, last) VALUES ('pets', 0), ('accounts', 0), ('keys', 0);

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
};
