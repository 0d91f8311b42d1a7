import { SQL } from 'bun';
import type { RowConflict } from '../storage.ts';

export class NoAnswer extends Error {}

/** No connection could be opened; `cause` has the reason. */
export class NoConnection extends Error {
  constructor(cause: unknown) {
    super(postgresReason(cause), { cause });
  }
}

/** A statement timed out. If it was a write, nothing was changed. */
export class TooLate extends Error {}

/** A conflict with another transaction, such as a serialization failure. It can be run again. */
export class Overtaken extends Error {}

/**
 * Classification of a failed statement.
 * - `unavailable`: no connection, a lock, a time-out or a conflict with another transaction; nothing was done.
 * - `refused`: the server rejected it: permissions, a full disk, read-only; nothing was done.
 * - `unanswered`: it was sent, and its outcome is unknown.
 * - `defect`: anything else, which is a bug of the service.
 */
export type Failure = 'unavailable' | 'refused' | 'unanswered' | 'defect';

/** Serialization failures, deadlocks (SQLSTATE): the server aborted one transaction for another. */
const overtaken = /^(40001|40P01)/;
/** Lock time-outs, cancelled statements, and transactions that were left idle as well. */
const busy = /^(55P03|57014|25P03|40001|40P01)/;
/** Missing login, schema or permission; resources, limits, object states, internal errors, read-only. */
const refused = /^(28|3D|3F|42501|42P01|53|54|55|58|XX|25006)/;
/** The server shuts down, or the connection is lost (classes 57P and 08). */
const going = /^(57P|08)/;

export function failureOf(error: unknown): Failure {
  if (error instanceof TooLate || error instanceof NoConnection || error instanceof Overtaken)
    return 'unavailable';
  if (error instanceof NoAnswer) return 'unanswered';
  if (!(error instanceof SQL.PostgresError)) return 'defect';
  const state = stateOf(error);
  if (busy.test(state) || isUnsent(error)) return 'unavailable';
  if (refused.test(state)) return 'refused';
  if (going.test(state) || /CONNECTION|TIMEOUT|CANCELLED/.test(error.code)) return 'unanswered';
  return 'defect';
}

/**
 * Canceled before its execution: it waited behind another statement, or the server had yet to parse it, which also
 * waits for locks. If it was sent, `detail` of the driver's error shows that.
 */
function isUnsent({ code, detail }: SQL.PostgresError): boolean {
  return code === 'ERR_POSTGRES_QUERY_CANCELLED' && detail === undefined;
}

export function isOvertaken(error: unknown): boolean {
  return error instanceof Overtaken || overtaken.test(stateOf(error));
}

/** The session is read-only, such as after its server became a standby. */
export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === '25006';
}

export function isMissingDatabase(error: unknown): boolean {
  return stateOf(causeOf(error)) === '3D000';
}

/** Only servers that ask for no password report it. */
export function isMissingRole(error: unknown): boolean {
  return stateOf(causeOf(error)) === '28000' && /^role ".*" does not exist$/.test(postgresReason(error));
}

const causeOf = (error: unknown) => (error instanceof NoConnection ? error.cause : error);

/** A table does not exist in the database and schema. */
export function isUndefinedTable(error: unknown): boolean {
  return stateOf(error) === '42P01';
}

/** The server, the database, the role or a pooler allows no further connections. */
export function isOutOfConnections(error: unknown): boolean {
  const cause = causeOf(error);
  // PgBouncer gives all of its errors the same SQLSTATE.
  return stateOf(cause) === '53300' || /^no more connections allowed/.test(postgresReason(cause));
}

/** The conflict of a row: its key is taken, or a row it refers to is missing; undefined for other errors. */
export function conflictOf(error: unknown): RowConflict | undefined {
  const state = stateOf(error);
  if (state === '23505') return 'taken';
  return state === '23503' ? 'missing' : undefined;
}

export function postgresReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ERR_POSTGRES_CONNECTION_REFUSED') return 'connection refused';
  return message;
}

function stateOf(error: unknown): string {
  if (!(error instanceof SQL.PostgresError) || !/SERVER_ERROR|SYNTAX_ERROR/.test(error.code)) return '';
  return String(error.errno ?? '');
}
