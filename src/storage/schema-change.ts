import type { Database } from 'bun:sqlite';

/** A schema change, as SQL for each engine that it affects, or as code if SQL cannot express a condition. */
export interface SchemaChange {
  readonly sqlite?: string | ((database: Database) => void);
  /** Runs in a transaction, after the indexes were built. */
  readonly postgres?: string;
  /**
   * `CREATE INDEX` statements for tables of earlier steps. Running instances keep changing the tables while their
   * indexes are built.
   */
  readonly postgresIndexes?: string;
}
