import type { SQL } from 'bun';
import type { Resource } from '../../domain/resources.ts';
import type { SqlValue } from '../../tables/table.ts';

export interface Versioned {
  readonly version: bigint;
}

/** Builds a statement with a connection's tag. */
export type Statement<T> = (sql: SQL) => SQL.Query<T>;

/** A query for rows of a resource, as text with its parameters. */
export interface Select {
  readonly resource: Resource;
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export type Execute = <T>(statement: Statement<T>) => Promise<T>;

/** Runs statements. Outside of a transaction, they only read. */
export interface Runner {
  readonly run: Execute;
  /** Runs a query on a replica if one has every change that the caller must see; undefined without replicas. */
  readonly select?: (query: Select) => Promise<unknown[]>;
  /**
   * Runs a statement that raises the version of a resource and returns it in its rows. Without a row, nothing was
   * changed.
   */
  readonly change?: <Row extends Versioned>(
    resource: Resource,
    statement: Statement<Row[]>,
  ) => Promise<Row[]>;
}

/** Runs the statements of a transaction. Each is atomic anywhere, because it is one statement. */
export type Statements = Required<Omit<Runner, 'select'>>;
