import { type Role, roles } from '../domain/role.ts';
import { int64, integer, nullable, oneOf, optional, secret, table, text } from './table.ts';

export interface Operator {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
  readonly lastFour: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** `fingerprint` is the SHA-256 of the token. */
export type NewOperator = Omit<Operator, 'id' | 'revokedAt'> & { readonly fingerprint: string };

/** The name of a revoked operator may be reused. */
export const operators = table(
  'operators',
  {
    id: integer,
    name: text,
    role: oneOf<Role>(roles),
    fingerprint: secret(text),
    lastFour: text,
    createdAt: integer,
    revokedAt: nullable(integer),
  },
  {
    isCounted: true,
    lookups: {
      name: { by: ['name'], where: [{ name: 'revokedAt', is: null }] },
      token: { by: ['fingerprint'], where: [{ name: 'revokedAt', is: null }] },
    },
  },
);

export interface Session {
  /** SHA-256 of the session's secrets. */
  readonly fingerprint: string;
  /** Undefined for a session that was started with a one-time code. */
  readonly operatorId?: number | undefined;
  readonly actor: string;
  readonly role: Role;
  /** Both times are the store's (`Clock.storeTime`), in Unix ms. */
  readonly usedAt: number;
  readonly expiresAt: number;
}

export const sessions = table(
  'sessions',
  {
    fingerprint: text,
    operatorId: optional(integer),
    actor: text,
    role: oneOf<Role>(roles),
    usedAt: integer,
    expiresAt: integer,
  },
  {
    key: ['fingerprint'],
    references: { operatorId: 'operators' },
    notCopied: 'operators sign in again after a move',
  },
);

export interface AuditEntry {
  readonly id: bigint;
  /** Unix ms. */
  readonly at: number;
  /** The actor as formatted by `formatActor`. */
  readonly actor: string;
  /** Name of the unit of work, such as `updateAccount`. */
  readonly operation: string;
  /** The changed object, such as `account:7`. */
  readonly object: string;
  /** The object before the change, as JSON; `null` if it did not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

export type NewAuditEntry = Omit<AuditEntry, 'id'>;

export const audit = table(
  'audit',
  {
    id: int64,
    at: integer,
    actor: text,
    operation: text,
    object: text,
    before: nullable(text),
    after: nullable(text),
  },
  { isCounted: true },
);
