import type { SQL } from 'bun';
import type { Resource } from '../../domain/resources.ts';
import type { SqlValue } from '../../tables/table.ts';

export interface Versioned {
  readonly version: bigint;
}

/** Builds a statement with a connection's template tag. */
export type Statement<T> = (sql: SQL) => SQL.Query<T>;

/** A query for a resource's rows, as SQL text with parameters. */
export interface Select {
  readonly resource: Resource;
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export type Execute = <T>(statement: Statement<T>) => Promise<T>;

/** Runs statements. Outside a transaction, statements may only read. */
export interface Runner {
  readonly run: Execute;
  /**
   * Runs a query on a replica that has every change the caller must see, or on the primary if there is no such
   * replica. Undefined if the store has no replicas.
   */
  readonly select?: (query: Select) => Promise<unknown[]>;
  /**
   * Runs a statement that raises the version of a resource and returns the version in each row. If the statement
   * returns no rows, nothing was changed.
   */
  readonly change?: <Row extends Versioned>(
    resource: Resource,
    statement: Statement<Row[]>,
  ) => Promise<Row[]>;
}

/** Runs a transaction's statements. Outside a transaction, each call is a single statement and therefore atomic. */
export type Statements = Required<Omit<Runner, 'select'>>;
