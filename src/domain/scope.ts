/** The scopes of a key (RFC 6749, section 3.3: a space-separated list of words). */
export const scopes = [
  'pets:read',
  'pets:create',
  'pets:write',
  'orders:read',
  'orders:write',
  'events:read',
  'webhooks:write',
] as const;

export type Scope = (typeof scopes)[number];

/** Default scopes of a key. They allow the operations that existed before scopes were introduced. */
export const defaultScopes: readonly Scope[] = ['pets:read', 'pets:create'];

/** Scopes as they are stored: in the order of `scopes`, without duplicates. */
export function formatScopes(given: Iterable<Scope>): string {
  const set = new Set(given);
  return scopes.filter((scope) => set.has(scope)).join(' ');
}

/** Parses stored scopes. Unknown scopes are omitted. */
export function parseScopes(text: string): Scope[] {
  const words = new Set(text.split(' '));
  return scopes.filter((scope) => words.has(scope));
}
