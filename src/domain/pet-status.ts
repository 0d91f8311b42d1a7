export const petStatuses = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof petStatuses)[number];

/** Allowed transitions when a client changes an animal. The same status is no change. */
const followers = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  // Returned to the store. Only an available animal can be reserved.
  sold: ['available'],
} as const satisfies Record<PetStatus, readonly PetStatus[]>;

export function statusesAfter(status: PetStatus): readonly PetStatus[] {
  return followers[status];
}

export function mayFollow(from: PetStatus, to: PetStatus): boolean {
  return from === to || statusesAfter(from).includes(to);
}
