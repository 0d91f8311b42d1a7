export const petStatuses = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof petStatuses)[number];

/** Status changes that a client may make to an animal. */
const transitions = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  // The animal was returned to the store. Only available animals can be reserved.
  sold: ['available'],
} as const satisfies Record<PetStatus, readonly PetStatus[]>;

export function allowedStatuses(status: PetStatus): readonly PetStatus[] {
  return transitions[status];
}
