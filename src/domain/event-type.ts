import type { Scope } from './scope.ts';

/** Groups of event types, with the scope that their events require in addition to `events:read`. */
export const scopeByEventGroup = {
  pet: 'pets:read',
  pets: 'pets:read',
  order: 'orders:read',
  category: 'pets:read',
  webhook: 'webhooks:write',
} as const satisfies Record<string, Scope>;

export type EventGroup = keyof typeof scopeByEventGroup;

export const eventTypes = [
  'pet.created',
  'pet.updated',
  'pet.deleted',
  'pets.imported',
  'order.placed',
  'order.approved',
  'order.delivered',
  'order.cancelled',
  'order.returned',
  'category.created',
  'category.updated',
  'category.deleted',
  'webhook.disabled',
] as const satisfies readonly `${EventGroup}.${string}`[];

export type EventType = (typeof eventTypes)[number];

const eventGroups = Object.keys(scopeByEventGroup) as EventGroup[];

/** Selectors that match all events of one resource. `pet.*` includes `pets.imported`. */
export const typeGroups = eventGroups
  .filter((group) => group !== 'pets')
  .map((group) => `${group}.*` as const);

export type EventSelector = EventType | (typeof typeGroups)[number];

export const eventSelectors: readonly EventSelector[] = [...eventTypes, ...typeGroups];

/** The group of an event type: the part before the dot. */
export function eventGroup(type: EventType): EventGroup {
  return type.slice(0, type.indexOf('.')) as EventGroup;
}

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
  return type === 'pets.imported' ? 'pet.*' : `${eventGroup(type)}.*`;
}

/** The scopes of all event types. */
export const eventScopes: readonly Scope[] = [...new Set<Scope>(Object.values(scopeByEventGroup))];

/** The scope that events of this type require in addition to `events:read`. */
export function requiredScope(type: EventType): Scope {
  return scopeByEventGroup[eventGroup(type)];
}

/** Whether a key with these scopes and `events:read` may read events of this type. */
export function canRead(scopes: ReadonlySet<Scope>, type: EventType): boolean {
  return scopes.has(requiredScope(type));
}
