import type { Scope } from './scope.ts';

/** Event types, with the scope that each requires in addition to `events:read`. */
const scopeByType = {
  'pet.created': 'pets:read',
  'pet.updated': 'pets:read',
  'pet.deleted': 'pets:read',
  'pets.imported': 'pets:read',
  'order.placed': 'orders:read',
  'order.approved': 'orders:read',
  'order.delivered': 'orders:read',
  'order.cancelled': 'orders:read',
  'order.returned': 'orders:read',
  'category.created': 'pets:read',
  'category.updated': 'pets:read',
  'category.deleted': 'pets:read',
  'webhook.disabled': 'webhooks:write',
} as const satisfies Record<string, Scope>;

export type EventType = keyof typeof scopeByType;

export const eventTypes = Object.keys(scopeByType) as readonly EventType[];

/** Selectors that match all events of one resource. `pet.*` includes `pets.imported`. */
export const typeGroups = ['pet.*', 'order.*', 'category.*', 'webhook.*'] as const;

export type EventSelector = EventType | (typeof typeGroups)[number];

export const eventSelectors: readonly EventSelector[] = [...eventTypes, ...typeGroups];

/** The types that match any of the selectors; all types if no selectors are given. */
export function expandSelectors(selectors: readonly EventSelector[]): ReadonlySet<EventType> {
  if (selectors.length === 0) return new Set(eventTypes);
  return new Set(
    selectors.flatMap((selector) =>
      eventTypes.filter((type) => type === selector || typeGroup(type) === selector),
    ),
  );
}

function typeGroup(type: EventType): string {
  return type === 'pets.imported' ? 'pet.*' : type.replace(/\..*/, '.*');
}

/** The scopes of all event types. */
export const eventScopes: readonly Scope[] = [...new Set<Scope>(Object.values(scopeByType))];

/** The scope that events of this type require in addition to `events:read`. */
export function requiredScope(type: EventType): Scope {
  return scopeByType[type];
}

/** Whether a key with these scopes and `events:read` may read events of this type. */
export function canRead(scopes: ReadonlySet<Scope>, type: EventType): boolean {
  return scopes.has(requiredScope(type));
}
