export const petStatuses = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof petStatuses)[number];

/** Which status may follow which when a client changes an animal. The same status again is no change. */
const followers = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  // Brought back to the store. Only an available animal can be reserved.
  sold: ['available'],
} as const satisfies Record<PetStatus, readonly PetStatus[]>;

export function statusesAfter(status: PetStatus): readonly PetStatus[] {
  return followers[status];
}

export function mayFollow(from: PetStatus, to: PetStatus): boolean {
  return from === to || statusesAfter(from).includes(to);
}
