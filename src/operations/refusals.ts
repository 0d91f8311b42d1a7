import type { ErrorCode } from '../contract/errors.ts';
import { Refusal } from '../contract/refusal.ts';
import type { Awaitable } from '../domain/awaitable.ts';

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
} as const;

export function foundById<T>(thing: T | undefined, otherwise: keyof typeof nouns, id: number | bigint): T {
  if (thing === undefined)
    throw new Refusal(otherwise, { message: `There is no ${nouns[otherwise]} ${id}.` });
  return thing;
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
