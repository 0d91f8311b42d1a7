import type { OrderStatus } from '../contract/orders.ts';
import type { PetStatus } from '../contract/pets.ts';

export type OrderStep = 'approve' | 'deliver' | 'cancel' | 'return';

export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled'] as const;

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

/** The steps a status has. */
export function stepsOf(status: OrderStatus): readonly OrderStep[] {
  return Object.keys(steps[status]) as OrderStep[];
}

/** Whether an order in this status holds its animal: nobody else can order, change or delete it. */
export function isOpen(status: OrderStatus): boolean {
  return status === 'placed' || status === 'approved';
}

/** What a step makes of the animal; undefined: nothing. A returned animal may have been sold on, or removed, meanwhile. */
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
