import { ApiError } from '../contract/api-error.ts';
import { type ErrorCode, errors } from '../contract/errors.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { Scope } from '../domain/scope.ts';

export function expectFound<T>(thing: T | undefined, otherwise: ErrorCode): T {
  if (thing === undefined) throw new ApiError(otherwise);
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

export function expectFoundById<T>(
  thing: T | undefined,
  otherwise: keyof typeof nouns,
  id: number | bigint,
): T {
  if (thing === undefined)
    throw new ApiError(otherwise, { message: `There is no ${nouns[otherwise]} ${id}.` });
  return thing;
}

/** Adds the id in the path to an error about a missing object. Returns all other errors unchanged. */
export function addIdToMessage(error: unknown, params: Readonly<Record<string, unknown>>): unknown {
  if (!(error instanceof ApiError) || error.message !== undefined) return error;
  const name = /^(\w+)_not_found$/.exec(error.code)?.[1] ?? '';
  const id = params[`${name}Id`];
  if (id === undefined) return error;
  const { message } = errors[error.code];
  return new ApiError(error.code, { message: message.replace('with this id', String(id)) });
}

/** Rejects a request whose key lacks these scopes. `purpose` is an infinitive, such as `to read events`. */
export function insufficientScopeError(missing: readonly Scope[], purpose?: string): ApiError {
  const scope = missing.join(' ');
  const noun = missing.length > 1 ? 'scopes' : 'scope';
  const needed = `${noun} ${missing.join(' and ')}${purpose === undefined ? '' : ` ${purpose}`}`;
  return new ApiError('insufficient_scope', { message: `This API key needs the ${needed}.`, scope });
}

export function invalidMemberError(name: string, message: string): ApiError {
  return new ApiError('invalid_body', {
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
  return error instanceof ApiError && error.code === 'service_unavailable';
}
