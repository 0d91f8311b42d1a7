import { type Role, roles } from '../domain/role.ts';
import {
  int64,
  integer,
  type NewRowOf,
  nullable,
  oneOf,
  optional,
  type RowOf,
  secret,
  table,
  text,
} from './table.ts';

/** The name of a revoked operator may be reused. */
export const operators = table(
  'operators',
  {
    id: integer,
    name: text,
    role: oneOf<Role>(roles),
    /** SHA-256 of the token. */
    fingerprint: secret(text),
    lastFour: text,
    /** Unix ms. */
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

export type Operator = RowOf<typeof operators>;
export type NewOperator = NewRowOf<typeof operators>;

export const sessions = table(
  'sessions',
  {
    /** SHA-256 of the session's secrets. */
    fingerprint: text,
    /** Undefined for a session that was started with a one-time code. */
    operatorId: optional(integer),
    actor: text,
    role: oneOf<Role>(roles),
    /** Both times are the store's (`Clock.storeTime`), in Unix ms. */
    usedAt: integer,
    expiresAt: integer,
  },
  {
    key: ['fingerprint'],
    references: { operatorId: 'operators' },
    notCopied: 'operators sign in again after a move',
  },
);

export type Session = RowOf<typeof sessions>;

export const audit = table(
  'audit',
  {
    id: int64,
    /** Unix ms. */
    at: integer,
    /** The actor as formatted by `formatActor`. */
    actor: text,
    /** Name of the unit of work, such as `updateAccount`. */
    operation: text,
    /** The changed object, such as `account:7`. */
    object: text,
    /** The object before the change, as JSON; `null` if it did not exist. */
    before: nullable(text),
    after: nullable(text),
  },
  { isCounted: true },
);

export type AuditEntry = RowOf<typeof audit>;
export type NewAuditEntry = Omit<AuditEntry, 'id'>;
