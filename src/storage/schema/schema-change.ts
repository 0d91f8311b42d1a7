/** The schema changes of a release. */
export interface SchemaChange {
  /** Numbers of the resulting formats. Unreleased versions used the numbers in between. */
  readonly formats: { readonly sqlite: number; readonly postgres: number };
  readonly sqlite: string;
  /** Runs in a transaction, after the indexes were built. */
  readonly postgres: string;
  /** Runs first in that transaction, before it locks tables: new tables, whose rows may take long to compute. */
  readonly postgresTables?: string;
  /** Existing tables that the change locks while instances of the previous version are running, in their order. */
  readonly postgresLocks?: string;
  /**
   * `CREATE INDEX` statements for tables of earlier releases. Running instances keep changing the tables while their
   * indexes are built.
   */
  readonly postgresIndexes?: string;
  /** Whether the change adds the case-folded names of accounts, which are computed afterwards. */
  readonly foldsNames?: true;
}
