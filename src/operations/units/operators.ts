import { ApiError } from '../../contract/api-error.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import type { NewOperator, Operator, Session } from '../../tables/operators.ts';
import { type AuditedUnits, defineSubject } from '../changes/audited-unit.ts';
import { expectFoundById } from '../errors.ts';
import { presentOperator } from '../presenters.ts';

const subject = defineSubject(
  'operator',
  ({ operators }, id) => operators.find(Number(id)),
  (operator) => JSON.stringify(presentOperator(operator)),
);

export const operatorUnits = {
  createOperator: { writes: [], subject: subject.made, run: createOperator },
  // Always recorded, because the new token may happen to have the same last four characters as the old one, and only
  // these are shown.
  rotateOperator: { writes: [], subject: { ...subject.byId, always: true }, run: rotateOperator },
  revokeOperator: { writes: [], subject: subject.byId, run: revokeOperator },
} as const satisfies AuditedUnits;

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

/** Maximum number of sessions per operator. The next sign-in ends the least recently used session. */
const maxSessions = 100;

interface SessionToAdd {
  readonly session: Session;
  readonly idleMs: number;
  /** Last four characters of the operator's token; undefined for a one-time code. */
  readonly lastFour: string | undefined;
}

/** Starts a session, unless the operator has been revoked or the token has been replaced since the operator was read. */
async function addSession(
  { sessions, operators }: Transaction,
  { session, idleMs, lastFour }: SessionToAdd,
): Promise<void> {
  const { operatorId, usedAt } = session;
  if (operatorId !== undefined) {
    // Otherwise, a change that ends the operator's sessions would not see this one.
    await sessions.lockOperator(operatorId);
    const operator = await operators.find(operatorId);
    if (operator?.revokedAt !== null || operator.lastFour !== lastFour) throw new ApiError('sign_in_failed');
  }
  await sessions.removeOld(usedAt - idleMs, usedAt);
  if (operatorId !== undefined) await sessions.removeOf(operatorId, maxSessions - 1);
  await sessions.add(session);
}

async function createOperator({ operators }: Transaction, operator: NewOperator): Promise<Operator> {
  const isTaken = (await operators.findBy('name', operator.name)) !== undefined;
  // Another process may have taken the name in the meantime.
  const made = isTaken ? undefined : await operators.addUnique(operator);
  if (made === undefined) throw new ApiError('name_taken');
  return made;
}

async function rotateOperator(
  { operators, sessions }: Transaction,
  { id, fingerprint, lastFour }: { id: number; fingerprint: string; lastFour: string },
): Promise<Operator> {
  const operator = expectFoundById(await operators.find(id), 'operator_not_found', id);
  if (operator.revokedAt !== null) throw new ApiError('operator_revoked');
  await operators.update(id, { fingerprint, lastFour });
  await sessions.removeOf(id, 0);
  return { ...operator, lastFour };
}

async function revokeOperator(
  { operators, sessions }: Transaction,
  { id, at }: { id: number; at: number },
): Promise<Operator> {
  const operator = expectFoundById(await operators.find(id), 'operator_not_found', id);
  const revokedAt = operator.revokedAt ?? at;
  await operators.update(id, { revokedAt });
  await sessions.removeOf(id, 0);
  return { ...operator, revokedAt };
}
