import type { Resource } from '../domain/resources.ts';
import type { Transaction, UnitOfWork, Units } from '../storage/transaction.ts';
import { runAlone } from './run-alone.ts';
import { type Subject, subjects } from './subjects.ts';
import type { AuditedName } from './units.ts';

/** A change by an operator: the unit of work, what it is called with, and who asks for it. */
export interface AuditedInput {
  readonly unit: AuditedName;
  readonly input: unknown;
  /** As `actorText` writes it. */
  readonly actor: string;
  /** Unix ms. */
  readonly at: number;
}

/**
 * The unit of work that does one of these and appends what it changed to the audit log, in one transaction. What changes
 * nothing is not recorded.
 */
export function auditedUnit(units: Units) {
  const writes = [...new Set(Object.values(units).flatMap((unit) => unit.writes))];
  /** Never none: what is read before the change stays as it is until the change. */
  const writesFor = ({ unit }: AuditedInput): readonly Resource[] => {
    const own = units[unit]?.writes ?? [];
    return own.length > 0 ? own : ['callers'];
  };
  const run = async (
    transaction: Transaction,
    { unit, input, actor, at }: AuditedInput,
  ): Promise<unknown> => {
    const subject: Subject = subjects[unit];
    const known = subject.of(input);
    const before = known === undefined ? null : await subject.read(transaction, known);
    const outcome = await runAlone(units[unit], transaction, input);
    const id = known ?? subject.made(outcome);
    if (id === undefined) return outcome;
    const after = await subject.read(transaction, id);
    if (before === after && !subject.always) return outcome;
    await transaction.audit.append({
      at,
      actor,
      operation: unit,
      object: `${subject.kind}:${id}`,
      before,
      after,
    });
    return outcome;
  };
  return { writes, writesFor, run } satisfies UnitOfWork<AuditedInput, unknown>;
}
