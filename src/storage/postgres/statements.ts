import type { SQL } from 'bun';
import type { Resource } from '../../domain/resources.ts';
import type { Versioned } from './versions.ts';

/** Makes a statement of a connection's tag. */
export type Statement<T> = (sql: SQL) => SQL.Query<T>;

/** Runs a statement, in a transaction or as one of its own. */
export type Execute = <T>(statement: Statement<T>) => Promise<T>;

/** What reads are made of. */
export interface Reader {
  /** Runs a statement that changes nothing. */
  read: Execute;
}

/** What writes are made of: each is one statement, and so done whole or not at all wherever it is run. */
export interface Statements {
  /** Runs one that moves no version. */
  run: Execute;
  /** Runs one that moves the version of a resource and returns it in its rows; no row: nothing was changed. */
  change<Row extends Versioned>(resource: Resource, statement: Statement<Row[]>): Promise<Row[]>;
}
