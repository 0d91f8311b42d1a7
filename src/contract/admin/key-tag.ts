import type { Scope } from '../../domain/scope.ts';

/** A key without its usage. Times are RFC 3339 (UTC). */
interface TaggedKey {
  readonly id: number;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly successorId: number | null;
}

/** Text from which a key's entity tag is computed: all members except the key's usage. */
export function keyTagInput({ id, name, scopes, expiresAt, revokedAt, successorId }: TaggedKey): string {
  return JSON.stringify([id, name, scopes, expiresAt, revokedAt, successorId]);
}
