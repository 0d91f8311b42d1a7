import type { SQL } from 'bun';
import type { Resource } from '../../domain/resources.ts';

export interface Versioned {
  readonly version: bigint;
}

/** Builds a statement with a connection's tag. */
export type Statement<T> = (sql: SQL) => SQL.Query<T>;

export type Execute = <T>(statement: Statement<T>) => Promise<T>;

/** Runs statements: outside of a transaction only those that read. */
export interface Runner {
  readonly run: Execute;
  /** Runs one that raises the version of a resource and returns it in its rows; no row: nothing was changed. */
  readonly change?: <Row extends Versioned>(
    resource: Resource,
    statement: Statement<Row[]>,
  ) => Promise<Row[]>;
}

/** Runs the statements of a transaction. Each is atomic wherever it runs, because it is one statement. */
export type Statements = Required<Runner>;
