import { Refusal } from '../../domain/refusal.ts';
import type { NewOperator, Operator, Session } from '../../storage/admin.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

export const operatorUnits = {
  createOperator: { writes: [], run: createOperator },
  rotateOperator: { writes: [], run: rotateOperator },
  revokeOperator: { writes: [], run: revokeOperator },
} as const satisfies Units;

/** Sessions are no changes that the audit log tells. */
export const sessionUnits = {
  addSession: { writes: [], run: addSession },
  useSession: {
    writes: [],
    run: ({ sessions }: Transaction, { fingerprint, at }: { fingerprint: string; at: number }) =>
      sessions.use(fingerprint, at),
  },
  removeSession: {
    writes: [],
    run: ({ sessions }: Transaction, fingerprint: string) => sessions.remove(fingerprint),
  },
} as const satisfies Units;

interface SessionToAdd {
  readonly session: Session;
  readonly idleMs: number;
  /** Of the token it was given for; undefined for a code. */
  readonly lastFour: string | undefined;
}

/** Unless the operator was revoked, or the token replaced, since the token was read. */
async function addSession(
  { sessions, operators }: Transaction,
  { session, idleMs, lastFour }: SessionToAdd,
): Promise<void> {
  const { operatorId, usedAt } = session;
  if (operatorId !== undefined) {
    const operator = await operators.find(operatorId);
    if (operator?.revokedAt !== null || operator.lastFour !== lastFour) throw new Refusal('sign_in_failed');
  }
  await sessions.removeOld(usedAt - idleMs, usedAt);
  await sessions.add(session);
}

async function createOperator({ operators }: Transaction, operator: NewOperator): Promise<Operator> {
  const made = await operators.create(operator);
  if (made === undefined) throw new Refusal('name_taken');
  return made;
}

async function rotateOperator(
  { operators, sessions }: Transaction,
  { id, fingerprint, lastFour }: { id: number; fingerprint: string; lastFour: string },
): Promise<Operator> {
  const operator = await find(operators, id);
  if (operator.revokedAt !== null) throw new Refusal('operator_revoked');
  await operators.replaceToken(id, fingerprint, lastFour);
  await sessions.removeOf(id);
  return { ...operator, lastFour };
}

async function revokeOperator(
  { operators, sessions }: Transaction,
  { id, at }: { id: number; at: number },
): Promise<Operator> {
  const operator = await find(operators, id);
  await operators.revoke(id, at);
  await sessions.removeOf(id);
  return { ...operator, revokedAt: operator.revokedAt ?? at };
}

async function find(operators: Transaction['operators'], id: number): Promise<Operator> {
  const operator = await operators.find(id);
  if (operator === undefined) throw new Refusal('operator_not_found');
  return operator;
}
