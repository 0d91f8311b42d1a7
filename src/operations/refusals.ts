import type { ErrorCode } from '../contract/errors.ts';
import { Refusal } from '../contract/refusal.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Scope } from '../domain/scope.ts';

export function found<T>(thing: T | undefined, otherwise: ErrorCode): T {
  if (thing === undefined) throw new Refusal(otherwise);
  return thing;
}

/** Nouns for messages about missing objects, by error code. */
const nouns = {
  account_not_found: 'account',
  key_not_found: 'key',
  ban_not_found: 'ban on key',
  webhook_not_found: 'webhook',
  operator_not_found: 'operator',
} as const;

export function foundById<T>(thing: T | undefined, otherwise: keyof typeof nouns, id: number | bigint): T {
  if (thing === undefined)
    throw new Refusal(otherwise, { message: `There is no ${nouns[otherwise]} ${id}.` });
  return thing;
}

const shopNouns: Readonly<Record<string, string>> = { pet: 'animal', order: 'order', category: 'category' };

/** Adds the id in the path to an error about a missing object. Returns all other errors unchanged. */
export function withId(error: unknown, params: Readonly<Record<string, unknown>>): unknown {
  if (!(error instanceof Refusal) || error.message !== undefined) return error;
  const name = /^(\w+)_not_found$/.exec(error.code)?.[1] ?? '';
  const id = params[`${name}Id`];
  if (shopNouns[name] === undefined || id === undefined) return error;
  return new Refusal(error.code, { message: `There is no ${shopNouns[name]} ${id}.` });
}

/** Rejects a request whose key lacks these scopes. `purpose` is an infinitive, such as `to read events`. */
export function insufficientScope(missing: readonly Scope[], purpose?: string): Refusal {
  const scope = missing.join(' ');
  const noun = missing.length > 1 ? 'scopes' : 'scope';
  const needed = `${noun} ${missing.join(' and ')}${purpose === undefined ? '' : ` ${purpose}`}`;
  return new Refusal('insufficient_scope', { message: `This API key needs the ${needed}.`, scope });
}

export function invalidMember(name: string, message: string): Refusal {
  return new Refusal('invalid_body', {
    message: `The request body is invalid: ${name} ${message}.`,
    details: [{ in: 'body', name, message }],
  });
}

/** The result of a read; undefined if the store cannot be read. */
export async function ifAvailable<Value>(read: () => Awaitable<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'service_unavailable';
}
