import { type Actor, actorText } from '../domain/actor.ts';
import type { Clock } from '../domain/clock.ts';
import type { NewAuditEntry } from '../storage/admin.ts';
import type { InputOf, OutcomeOf } from '../storage/transaction.ts';
import type { AuditedName, Store, units } from './units.ts';

/** In whose name operators' changes are made, and on what. */
export interface OperatorContext<Part extends Pick<Store, 'write'> = Store> {
  readonly store: Part;
  readonly clock: Clock;
  readonly actor: Actor;
}

/** Makes a change for an operator, and records it. Rejects with what the unit throws, as `Writer.write` does. */
export async function writeAs<Name extends AuditedName>(
  { store, actor, clock }: OperatorContext<Pick<Store, 'write'>>,
  unit: Name,
  input: InputOf<(typeof units)[Name]>,
): Promise<OutcomeOf<(typeof units)[Name]>> {
  const outcome = await store.write('audited', { unit, input, actor: actorText(actor), at: clock.now() });
  // The unit made it, of which `audited` knows no more than its name.
  return outcome as OutcomeOf<(typeof units)[Name]>;
}

/** The audit log's entry for what an operator does now. */
export function entryOf(
  { actor, clock }: Pick<OperatorContext, 'actor' | 'clock'>,
  what: Omit<NewAuditEntry, 'at' | 'actor'>,
): NewAuditEntry {
  return { at: clock.now(), actor: actorText(actor), ...what };
}
