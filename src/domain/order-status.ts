import type { PetStatus } from './pet-status.ts';

export type OrderTransition = 'approve' | 'deliver' | 'cancel' | 'return';

export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled'] as const;

export type OrderStatus = (typeof orderStatuses)[number];

/** Allowed transitions of an order, by current status. */
const transitions: Readonly<Record<OrderStatus, Readonly<Partial<Record<OrderTransition, OrderStatus>>>>> = {
  placed: { approve: 'approved', cancel: 'cancelled' },
  approved: { deliver: 'delivered', cancel: 'cancelled' },
  delivered: { return: 'returned' },
  returned: {},
  cancelled: {},
};

/** The status after a transition; undefined if the transition is not allowed. */
export function statusAfter(status: OrderStatus, step: OrderTransition): OrderStatus | undefined {
  return transitions[status][step];
}

export function allowedTransitions(status: OrderStatus): readonly OrderTransition[] {
  return Object.keys(transitions[status]) as OrderTransition[];
}

/**
 * The animal's status after a transition of its order; undefined if unchanged. A returned animal may already have been
 * sold again or deleted.
 */
export function petStatusAfter(step: OrderTransition, status: PetStatus): PetStatus | undefined {
  switch (step) {
    case 'approve':
      return undefined;
    case 'deliver':
      return 'sold';
    case 'cancel':
      return 'available';
    case 'return':
      return status === 'sold' ? 'available' : undefined;
  }
}
