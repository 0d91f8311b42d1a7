import type { SuccessStatus } from '../contract/operation.ts';
import type { KeptAnswer } from './transaction.ts';

/** A kept answer as SQL gives it, in either dialect: integers are `bigint`. */
export interface AnswerRow {
  readonly request: string;
  readonly status: bigint;
  readonly body: string | null;
  readonly location: string | null;
  readonly keptAt: bigint;
}

/** How many answers that nobody may ask for any more go with each one that is kept: more than come. */
export const answersRemovedAtOnce = 4;

export const answersPrunedAtOnce = 1_000;

export function answerId(accountId: number, key: string): string {
  return `${accountId}:${key}`;
}

export function answerOfRow(accountId: number, key: string, row: AnswerRow): KeptAnswer {
  const status = Number(row.status) as SuccessStatus;
  return { accountId, key, ...row, status, keptAt: Number(row.keptAt) };
}
