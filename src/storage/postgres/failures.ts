import { SQL } from 'bun';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { RowConflict } from '../storage.ts';

export class NoReplyError extends Error {}

/** No connection could be opened; `cause` gives the reason. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super(postgresReason(cause), { cause });
  }
}

/** A statement timed out. If the statement was a write, nothing was changed. */
export class StatementTimeout extends Error {}

/** A conflict with another transaction, such as a serialization failure. The transaction can be retried. */
export class TransactionConflict extends Error {}

/**
 * Classification of a failed statement.
 * - `unavailable`: no connection, a lock, a timeout or a conflict with another transaction; nothing was changed.
 * - `refused`: the server rejected the statement (permissions, full disk, read-only); nothing was changed.
 * - `unanswered`: the statement was sent, but its outcome is unknown.
 * - `defect`: any other error, which is a bug in the service.
 */
type Failure = 'unavailable' | 'refused' | 'unanswered' | 'defect';

/** SQLSTATEs for serialization failures and deadlocks. The server resolves both by aborting one of the transactions. */
const overtaken = /^(40001|40P01)/;
/**
 * SQLSTATEs for lock timeouts, canceled statements, idle-transaction timeouts, serialization failures and deadlocks.
 */
const busy = /^(55P03|57014|25P03|40001|40P01)/;
/**
 * SQLSTATEs for invalid logins; missing databases, schemas, tables and permissions; exhausted resources; exceeded
 * limits; objects in the wrong state; system and internal errors; and read-only transactions.
 */
const refused = /^(28|3D|3F|42501|42P01|53|54|55|58|XX|25006)/;
/** SQLSTATE classes for a server shutdown (57P) and a lost connection (08). */
const going = /^(57P|08)/;

export function toFailure(error: unknown): Failure {
  if (
    error instanceof StatementTimeout ||
    error instanceof ConnectionError ||
    error instanceof TransactionConflict
  )
    return 'unavailable';
  if (error instanceof NoReplyError) return 'unanswered';
  if (!(error instanceof SQL.PostgresError)) return 'defect';
  const state = sqlState(error);
  // A statement that was canceled before it was executed: it was queued behind another statement, or waited for a lock
  // while being parsed. If a statement was sent, the driver's error has a `detail`.
  const isUnsent = error.code === 'ERR_POSTGRES_QUERY_CANCELLED' && error.detail === undefined;
  if (busy.test(state) || isUnsent) return 'unavailable';
  if (refused.test(state)) return 'refused';
  if (going.test(state) || /CONNECTION|TIMEOUT|CANCELLED/.test(error.code)) return 'unanswered';
  return 'defect';
}

/** Whether an error, or one of its causes, is a timeout, after which another attempt may succeed. */
export function isTimeout(error: unknown): boolean {
  if (error instanceof StatementTimeout || error instanceof NoReplyError || busy.test(sqlState(error)))
    return true;
  return isCausedBy(error, isTimeout);
}

/** Whether an error, or one of its causes, is a statement that the server rejected. */
export function isRefusal(error: unknown): boolean {
  return toFailure(error) === 'refused' || isCausedBy(error, isRefusal);
}

function isCausedBy(error: unknown, isKind: (cause: unknown) => boolean): boolean {
  const cause = error instanceof Object && 'cause' in error ? error.cause : undefined;
  return cause !== undefined && isKind(cause);
}

/** Whether an error, or one of its causes, is a conflict with another transaction. */
export function isTransactionConflict(error: unknown): boolean {
  if (error instanceof TransactionConflict || overtaken.test(sqlState(error))) return true;
  return isCausedBy(error, isTransactionConflict);
}

/** The statement waited longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** The statement was canceled, for example by `statement_timeout`. */
export function isCanceled(error: unknown): boolean {
  return sqlState(error) === '57014';
}

/** The session is read-only, for example because the server became a standby. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006';
}

/** `StorageUnavailable` because the session is read-only. */
export function isReadOnlyOutage(error: unknown): boolean {
  return error instanceof StorageUnavailable && error.cause instanceof Error && isReadOnly(error.cause.cause);
}

export function isMissingDatabase(error: unknown): boolean {
  return sqlState(causeOf(error)) === '3D000';
}

/** Only servers without password authentication report a missing role. */
export function isMissingRole(error: unknown): boolean {
  return sqlState(causeOf(error)) === '28000' && /^role ".*" does not exist$/.test(postgresReason(error));
}

const causeOf = (error: unknown) => (error instanceof ConnectionError ? error.cause : error);

/** The table does not exist in this database and schema. */
export function isUndefinedTable(error: unknown): boolean {
  return sqlState(error) === '42P01';
}

/** The server, the database, the role or a pooler allows no more connections. */
export function isOutOfConnections(error: unknown): boolean {
  const cause = causeOf(error);
  // PgBouncer uses the same SQLSTATE for all errors.
  return sqlState(cause) === '53300' || /^no more connections allowed/.test(postgresReason(cause));
}

/**
 * Returns the kind of constraint violation: the key is taken, or a referenced row is missing. Undefined for other
 * errors.
 */
export function toRowConflict(error: unknown): RowConflict | undefined {
  const state = sqlState(error);
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

function sqlState(error: unknown): string {
  if (!(error instanceof SQL.PostgresError) || !/SERVER_ERROR|SYNTAX_ERROR/.test(error.code)) return '';
  return String(error.errno ?? '');
}
