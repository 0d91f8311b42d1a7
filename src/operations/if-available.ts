import type { Awaitable } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';

/** What is read; undefined while the store cannot tell. */
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
