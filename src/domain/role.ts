/** Operator roles: a viewer has read-only access; an admin can also make changes. */
export const roles = ['viewer', 'admin'] as const;

export type Role = (typeof roles)[number];

export function hasRole(role: Role, needed: Role): boolean {
  return role === 'admin' || needed === 'viewer';
}
