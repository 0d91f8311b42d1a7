/** Permissions of operators: a viewer reads, an admin also changes. */
export const roles = ['viewer', 'admin'] as const;

export type Role = (typeof roles)[number];

export function mayDo(role: Role, needed: Role): boolean {
  return role === 'admin' || needed === 'viewer';
}
