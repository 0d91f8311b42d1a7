export const petStatuses = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof petStatuses)[number];

/** Status changes that a client may make to an animal. Keeping the same status is always allowed. */
const followers = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  // The animal was returned to the store. Only available animals can be reserved.
  sold: ['available'],
} as const satisfies Record<PetStatus, readonly PetStatus[]>;

export function statusesAfter(status: PetStatus): readonly PetStatus[] {
  return followers[status];
}

export function mayFollow(from: PetStatus, to: PetStatus): boolean {
  return from === to || statusesAfter(from).includes(to);
}
