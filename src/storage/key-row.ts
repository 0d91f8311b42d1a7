import type { Key } from './storage.ts';

/** A key as SQL gives it, in either dialect: integers are `bigint`. */
export interface KeyRow {
  readonly id: bigint;
  readonly accountId: bigint;
  readonly name: string;
  readonly lastFour: string;
  readonly createdAt: bigint;
  readonly expiresAt: bigint | null;
  readonly revokedAt: bigint | null;
  readonly successorId: bigint | null;
}

export function keyOfRow(row: KeyRow): Key {
  return {
    id: Number(row.id),
    accountId: Number(row.accountId),
    name: row.name,
    lastFour: row.lastFour,
    createdAt: Number(row.createdAt),
    expiresAt: row.expiresAt === null ? null : Number(row.expiresAt),
    revokedAt: row.revokedAt === null ? null : Number(row.revokedAt),
    successorId: row.successorId === null ? null : Number(row.successorId),
  };
}
