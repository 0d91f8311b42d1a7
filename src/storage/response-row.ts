import type { SuccessStatus } from '../contract/operation.ts';
import type { StoredResponse } from './transaction.ts';

/** A stored response as SQL returns it in either dialect, with integers as `bigint`. */
export interface ResponseRow {
  readonly request: string;
  readonly status: bigint;
  readonly body: string | null;
  readonly location: string | null;
  readonly keptAt: bigint;
}

/** Number of expired responses deleted per insert. Must be above 1, so that the table shrinks. */
export const responseRemovalBatch = 4;

export const responsePruneBatch = 1_000;

export function toResponseId(accountId: number, key: string): string {
  return `${accountId}:${key}`;
}

export function toStoredResponse(accountId: number, key: string, row: ResponseRow): StoredResponse {
  const status = Number(row.status) as SuccessStatus;
  return { accountId, key, ...row, status, keptAt: Number(row.keptAt) };
}
