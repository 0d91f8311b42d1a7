/** The scopes of a key (RFC 6749, section 3.3: a list of words separated by spaces). */
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

/** Default scopes of a key: the operations that existed before scopes. */
export const defaultScopes: readonly Scope[] = ['pets:read', 'pets:create'];

/** The stored form of scopes, in the order of `scopes` and without duplicates. */
export function scopesText(given: Iterable<Scope>): string {
  const set = new Set(given);
  return scopes.filter((scope) => set.has(scope)).join(' ');
}

/** Parses stored scopes. Unknown scopes are omitted. */
export function scopesOfText(text: string): Scope[] {
  const words = new Set(text.split(' '));
  return scopes.filter((scope) => words.has(scope));
}
