import type { PetStatus } from './pet-status.ts';

export type OrderStep = 'approve' | 'deliver' | 'cancel' | 'return';

export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled'] as const;

export type OrderStatus = (typeof orderStatuses)[number];

/** An order's life: the steps each state has, and where they lead. */
const steps: Readonly<Record<OrderStatus, Readonly<Partial<Record<OrderStep, OrderStatus>>>>> = {
  placed: { approve: 'approved', cancel: 'cancelled' },
  approved: { deliver: 'delivered', cancel: 'cancelled' },
  delivered: { return: 'returned' },
  returned: {},
  cancelled: {},
};

/** The status that a step leads to; undefined when the status does not have the step. */
export function next(status: OrderStatus, step: OrderStep): OrderStatus | undefined {
  return steps[status][step];
}

export function stepsOf(status: OrderStatus): readonly OrderStep[] {
  return Object.keys(steps[status]) as OrderStep[];
}

/** The animal's status after a step; undefined for no change. A returned animal may have been sold again or removed before. */
export function petStatusAfter(step: OrderStep, status: PetStatus): PetStatus | undefined {
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
