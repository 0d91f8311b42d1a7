/** What a key may do (RFC 6749, section 3.3: scopes are a list of words, separated by spaces). */
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

/** What a key has that is made without saying so: the operations that there were before scopes. */
export const defaultScopes: readonly Scope[] = ['pets:read', 'pets:create'];

/** Scopes as they are stored, in the order of `scopes`, each once. */
export function scopesText(given: Iterable<Scope>): string {
  const set = new Set(given);
  return scopes.filter((scope) => set.has(scope)).join(' ');
}

/** The scopes of a stored text. Those this version does not know are left out: they allow nothing here. */
export function scopesOfText(text: string): Scope[] {
  const words = new Set(text.split(' '));
  return scopes.filter((scope) => words.has(scope));
}
