import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { type Actor, formatActor } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';
import type { UnitInput, UnitOutcome } from '../../storage/transaction.ts';
import type { NewAuditEntry } from '../../tables/operators.ts';
import type { AuditedUnitName, Store, units } from '../units.ts';

export interface OperatorContext<Part extends Pick<Store, 'write'> = Store> {
  readonly store: Part;
  readonly clock: Clock;
  readonly actor: Actor;
  readonly once?: OperatorIdempotency | undefined;
}

type WriteContext = OperatorContext<Pick<Store, 'write'>>;
type Outcome<Name extends AuditedUnitName> = UnitOutcome<(typeof units)[Name]>;

/**
 * Applies and records a change. Returns the original outcome if the request is a retry. Throws the same errors as
 * `Writer.write`.
 */
export async function writeAs<Name extends AuditedUnitName>(
  context: WriteContext,
  unit: Name,
  input: UnitInput<(typeof units)[Name]>,
): Promise<Outcome<Name>> {
  return (await write(context, unit, input)).outcome;
}

/** Like `writeAs`, for a change that issues a secret. Returns the original secret if the request is a retry. */
export async function issueAs<Name extends AuditedUnitName>(
  context: WriteContext,
  unit: Name,
  input: UnitInput<(typeof units)[Name]>,
  secret: string,
): Promise<{ readonly outcome: Outcome<Name>; readonly secret: string }> {
  const { outcome, sealed } = await write(context, unit, input, secret);
  return { outcome, secret: context.once?.isReplayed ? context.once.open(sealed ?? '') : secret };
}

async function write<Name extends AuditedUnitName>(
  { store, actor, clock, once }: WriteContext,
  unit: Name,
  input: UnitInput<(typeof units)[Name]>,
  secret?: string,
): Promise<{ readonly outcome: Outcome<Name>; readonly sealed: string | null }> {
  const done = await store.write('audited', {
    ...{ unit, input, actor: formatActor(actor), at: clock.now() },
    once: once?.stored(secret, clock.storeTime()),
  });
  if (once !== undefined) once.isReplayed = done.isReplayed;
  // The `audited` unit gets the name of the inner unit at run time, so the outcome has no static type.
  return { outcome: done.outcome as Outcome<Name>, sealed: done.sealed };
}

export function toAuditEntry(
  { actor, clock }: Pick<OperatorContext, 'actor' | 'clock'>,
  what: Omit<NewAuditEntry, 'at' | 'actor'>,
): NewAuditEntry {
  return { at: clock.now(), actor: formatActor(actor), ...what };
}

/**
 * Minimum length of an operator's `Idempotency-Key`, which must be hard to guess: the length of a UUID without hyphens.
 */
export const minKeyLength = 32;

/** Responses to operators are stored in the same table as responses to clients, under an id that no account has. */
const operatorsAccountId = 0;

const saltBytes = 16;
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

interface OperatorIdempotencyOptions {
  readonly idempotencyKey: string;
  readonly actor: string;
  readonly request: string;
  readonly randomBytes: RandomBytes;
}

/**
 * An operator's request that is applied exactly once, however often it is retried (`Idempotency-Key`). A secret issued
 * in response to the request is encrypted with a key derived from the `Idempotency-Key`. Only a hash of the
 * `Idempotency-Key` is stored, so the secret can be read only by the same operator, by repeating the request.
 */
export class OperatorIdempotency {
  isReplayed = false;
  readonly #options: OperatorIdempotencyOptions;

  constructor(options: OperatorIdempotencyOptions) {
    this.#options = options;
  }

  /** The request as the `audited` unit of work stores it. `at` is the store's time (`Clock.storeTime`). */
  stored(secret: string | undefined, at: number) {
    const { actor, idempotencyKey, request } = this.#options;
    const key = createHash('sha256').update(`${actor}\n${idempotencyKey}`).digest('hex');
    return {
      accountId: operatorsAccountId,
      key,
      request,
      sealed: secret === undefined ? null : this.seal(secret),
      at,
    };
  }

  seal(secret: string): string {
    const salt = this.#options.randomBytes(saltBytes);
    const { key, iv } = this.#derived(salt);
    const encryption = createCipheriv(cipher, key, iv);
    const sealed = [encryption.update(secret, 'utf8'), encryption.final()];
    return Buffer.concat([salt, encryption.getAuthTag(), ...sealed]).toString('base64url');
  }

  /** Throws if the secret was encrypted by a different request. */
  open(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64url');
    const { key, iv } = this.#derived(bytes.subarray(0, saltBytes));
    const decryption = createDecipheriv(cipher, key, iv);
    decryption.setAuthTag(bytes.subarray(saltBytes, saltBytes + tagBytes));
    return (
      decryption.update(bytes.subarray(saltBytes + tagBytes), undefined, 'utf8') + decryption.final('utf8')
    );
  }

  /** Each salt yields a different key, so the initialization vector can be derived from the salt as well. */
  #derived(salt: Uint8Array): { key: Buffer; iv: Buffer } {
    const { idempotencyKey, actor, request } = this.#options;
    const info = `animal-store operator-once\n${actor}\n${request}`;
    const derived = Buffer.from(hkdfSync('sha256', idempotencyKey, salt, info, keyBytes + ivBytes));
    return { key: derived.subarray(0, keyBytes), iv: derived.subarray(keyBytes) };
  }
}
