import { type Actor, actorText } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import type { InputOf, OutcomeOf } from '../../storage/transaction.ts';
import type { NewAuditEntry } from '../../tables/operators.ts';
import type { AuditedName, Store, units } from '../units.ts';
import type { OperatorOnce } from './operator-once.ts';

export interface OperatorContext<Part extends Pick<Store, 'write'> = Store> {
  readonly store: Part;
  readonly clock: Clock;
  readonly actor: Actor;
  readonly once?: OperatorOnce | undefined;
}

type WriteContext = OperatorContext<Pick<Store, 'write'>>;
type Outcome<Name extends AuditedName> = OutcomeOf<(typeof units)[Name]>;

/**
 * Applies and records a change. Returns the original outcome if the request is a retry. Throws the same errors as
 * `Writer.write`.
 */
export async function writeAs<Name extends AuditedName>(
  context: WriteContext,
  unit: Name,
  input: InputOf<(typeof units)[Name]>,
): Promise<Outcome<Name>> {
  return (await write(context, unit, input, undefined)).outcome;
}

/** Like `writeAs`, for a change that issues a secret. Returns the original secret if the request is a retry. */
export async function issueAs<Name extends AuditedName>(
  context: WriteContext,
  unit: Name,
  input: InputOf<(typeof units)[Name]>,
  secret: string,
): Promise<{ readonly outcome: Outcome<Name>; readonly secret: string }> {
  const { outcome, sealed } = await write(context, unit, input, secret);
  return { outcome, secret: context.once?.isReplayed ? context.once.open(sealed ?? '') : secret };
}

async function write<Name extends AuditedName>(
  { store, actor, clock, once }: WriteContext,
  unit: Name,
  input: InputOf<(typeof units)[Name]>,
  secret: string | undefined,
): Promise<{ readonly outcome: Outcome<Name>; readonly sealed: string | null }> {
  const change = { unit, input, actor: actorText(actor), at: clock.now() };
  if (once === undefined) {
    // The `audited` unit gets the name of the inner unit at run time, so the outcome has no static type.
    return { outcome: (await store.write('audited', change)) as Outcome<Name>, sealed: null };
  }
  const { key, request } = once;
  const sealed = secret === undefined ? null : once.seal(secret);
  const done = await store.write('auditedOnce', { ...change, once: { key, request, sealed } });
  once.isReplayed = done.isReplayed;
  return { outcome: done.outcome as Outcome<Name>, sealed: done.sealed };
}

export function entryOf(
  { actor, clock }: Pick<OperatorContext, 'actor' | 'clock'>,
  what: Omit<NewAuditEntry, 'at' | 'actor'>,
): NewAuditEntry {
  return { at: clock.now(), actor: actorText(actor), ...what };
}
