/** A change of the schema, as SQL of each engine. */
interface SchemaChange {
  readonly sqlite: string;
  readonly postgres: string;
}

/** Steps that both engines take after the earlier ones, which each has alone. They are only ever appended, and never changed. */
export const schemaChanges: readonly SchemaChange[] = [
  {
    sqlite: `
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

    INSERT INTO versions VALUES ('webhooks', 1);
    `,
    postgres: `
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
    `,
  },
];
