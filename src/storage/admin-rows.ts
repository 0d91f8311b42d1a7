/** Rows of what the store keeps for operators, as SQL gives them, in either dialect: integers are `bigint`. */
import type { Role } from '../domain/role.ts';
import type {
  AuditEntry,
  Instance,
  KeyUsage,
  LastUse,
  MinuteUsage,
  Operator,
  OutcomeCounts,
  Session,
  UsagePeriod,
} from './admin.ts';

export interface OperatorRow {
  readonly id: bigint;
  readonly name: string;
  readonly role: Role;
  readonly lastFour: string;
  readonly createdAt: bigint;
  readonly revokedAt: bigint | null;
}

export function operatorOfRow({ id, name, role, lastFour, createdAt, revokedAt }: OperatorRow): Operator {
  return {
    id: Number(id),
    name,
    role,
    lastFour,
    createdAt: Number(createdAt),
    revokedAt: revokedAt === null ? null : Number(revokedAt),
  };
}

export interface SessionRow {
  readonly fingerprint: string;
  readonly operatorId: bigint | null;
  readonly actor: string;
  readonly role: Role;
  readonly usedAt: bigint;
  readonly expiresAt: bigint;
}

export function sessionOfRow(row: SessionRow): Session {
  const { fingerprint, operatorId, actor, role, usedAt, expiresAt } = row;
  return {
    fingerprint,
    operatorId: operatorId === null ? undefined : Number(operatorId),
    actor,
    role,
    usedAt: Number(usedAt),
    expiresAt: Number(expiresAt),
  };
}

export type AuditRow = Omit<AuditEntry, 'at'> & { readonly at: bigint };

export function auditEntryOfRow({ id, at, actor, operation, object, before, after }: AuditRow): AuditEntry {
  return { id, at: Number(at), actor, operation, object, before, after };
}

/** Numbers as SQL gives them. */
type Integers<Values> = {
  readonly [Name in keyof Values]: Values[Name] extends number ? bigint : Values[Name];
};

export type MinuteRow = Integers<MinuteUsage>;
export type PeriodRow = Integers<UsagePeriod>;
export type KeyUsageRow = Integers<KeyUsage>;
export type LastUseRow = Integers<LastUse>;
export type InstanceRow = Integers<Instance>;

export function minuteOfRow({ minute, operation, code, requests }: MinuteRow): MinuteUsage {
  return { minute: Number(minute), operation, code, requests: Number(requests) };
}

function outcomesOfRow({ ok, refused, limited, failed }: Integers<OutcomeCounts>): OutcomeCounts {
  return { ok: Number(ok), refused: Number(refused), limited: Number(limited), failed: Number(failed) };
}

export function periodOfRow(row: PeriodRow): UsagePeriod {
  return { from: Number(row.from), ...outcomesOfRow(row) };
}

export function keyUsageOfRow(row: KeyUsageRow): KeyUsage {
  return {
    keyId: Number(row.keyId),
    accountId: Number(row.accountId),
    ...outcomesOfRow(row),
    deprecated: Number(row.deprecated),
    lastUsedAt: Number(row.lastUsedAt),
  };
}

export function lastUseOfRow({ keyId, lastUsedAt, requests }: LastUseRow): LastUse {
  return { keyId: Number(keyId), lastUsedAt: Number(lastUsedAt), requests: Number(requests) };
}

export function instanceOfRow({ name, version, startedAt, seenAt }: InstanceRow): Instance {
  return { name, version, startedAt: Number(startedAt), seenAt: Number(seenAt) };
}
