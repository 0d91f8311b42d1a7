import { createHash } from 'node:crypto';
import type { Authenticated } from '../operations/admission.ts';
import type { Once } from '../operations/once.ts';
import type { Input } from './input.ts';
import { pathOf } from './query.ts';

/** What tells this request and its repetitions from all others: its key, its account, and what it asks for. */
export function onceOf(
  { idempotencyKey, bytes }: Input,
  method: string,
  url: string,
  { caller }: Authenticated,
): Once | undefined {
  if (idempotencyKey === undefined) return undefined;
  return { accountId: caller.accountId, key: idempotencyKey, request: digestOf(method, url, bytes) };
}

/** SHA-256 over what a request asks for. */
export function digestOf(method: string, url: string, bytes: Uint8Array): string {
  return createHash('sha256')
    .update(`${method} ${pathOf(url)}\n`)
    .update(bytes)
    .digest('hex');
}
