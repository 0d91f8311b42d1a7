/** Display names for the API's codes. */
import type { OperationId } from '../src/contract/operations.ts';
import type { OrderStatus } from '../src/contract/orders.ts';
import type { PetStatus } from '../src/contract/pets.ts';
import type { DeliveryStatus } from '../src/domain/delivery-status.ts';
import type { EventSelector, EventType, typeGroups } from '../src/domain/event-type.ts';
import type { OrderTransition } from '../src/domain/order-status.ts';
import type { PlanName } from '../src/domain/plan.ts';
import type { Role } from '../src/domain/role.ts';
import type { Scope } from '../src/domain/scope.ts';
import type { Account, Key, Webhook } from './contract.ts';

export type Tone = 'good' | 'note' | 'warn' | 'bad' | 'quiet';

/** A display name with its color. */
export interface Label {
  readonly text: string;
  readonly tone: Tone;
}

/** Statuses keep their API names, so that operators can search for them. */
export const petStatusLabels: Readonly<Record<PetStatus, Label>> = {
  available: { text: 'available', tone: 'good' },
  pending: { text: 'pending', tone: 'note' },
  sold: { text: 'sold', tone: 'quiet' },
};

export const orderStatusLabels: Readonly<Record<OrderStatus, Label>> = {
  placed: { text: 'placed', tone: 'note' },
  approved: { text: 'approved', tone: 'good' },
  delivered: { text: 'delivered', tone: 'quiet' },
  returned: { text: 'returned', tone: 'warn' },
  cancelled: { text: 'cancelled', tone: 'quiet' },
};

export const keyStateLabels: Readonly<Record<Key['state'], Label>> = {
  live: { text: 'Active', tone: 'good' },
  banned: { text: 'Banned', tone: 'bad' },
  expired: { text: 'Expired', tone: 'warn' },
  revoked: { text: 'Revoked', tone: 'quiet' },
  unknown: { text: 'Unknown', tone: 'warn' },
};

export const scopeLabels: Readonly<Record<Scope, string>> = {
  'pets:read': 'Read animals and categories',
  'pets:create': 'Add animals',
  'pets:write': 'Change and delete animals and categories',
  'orders:read': 'Read orders',
  'orders:write': 'Place orders and change their status',
  'events:read': 'Read events about resources that the key can read',
  'webhooks:write': 'Manage webhooks',
};

export const planLabels: Readonly<Record<PlanName, string>> = {
  free: 'Free',
  pro: 'Pro',
  business: 'Business',
  enterprise: 'Enterprise',
};

export const accountStateLabels = {
  open: { text: 'Open', tone: 'good' },
  closed: { text: 'Closed', tone: 'quiet' },
} as const satisfies Record<string, Label>;

export function accountStateLabel({ closedAt }: Pick<Account, 'closedAt'>): Label {
  return accountStateLabels[closedAt === null ? 'open' : 'closed'];
}

export const searchKindLabels = {
  account: 'Account',
  key: 'Key',
  animal: 'Animal',
  order: 'Order',
  category: 'Category',
  webhook: 'Webhook',
  operator: 'Operator',
  import: 'Import',
  request: 'Failed request',
} as const;

export const roleLabels: Readonly<Record<Role, string>> = {
  viewer: 'Viewer',
  admin: 'Admin',
};

export const webhookStateLabels = {
  enabled: { text: 'Enabled', tone: 'good' },
  disabled: { text: 'Disabled', tone: 'warn' },
} as const satisfies Record<string, Label>;

export function webhookStateLabel({ enabled }: Pick<Webhook, 'enabled'>): Label {
  return webhookStateLabels[enabled ? 'enabled' : 'disabled'];
}

export const deliveryStatusLabels: Readonly<Record<DeliveryStatus, Label>> = {
  pending: { text: 'Pending', tone: 'note' },
  succeeded: { text: 'Succeeded', tone: 'good' },
  failed: { text: 'Failed', tone: 'bad' },
};

export const orderLabels = { oldest: { text: 'Oldest first' } } as const;

interface StepWords {
  /** Label of the button. */
  readonly act: string;
  /** Past tense of the action, for the notification. */
  readonly done: string;
  /** Consequences that the confirmation dialog describes. */
  readonly effect: string;
}

export const orderTransitionLabels: Readonly<Record<OrderTransition, StepWords>> = {
  approve: {
    act: 'Approve',
    done: 'Approved',
    effect: 'The animal stays reserved until the order is delivered or cancelled.',
  },
  deliver: { act: 'Deliver', done: 'Delivered', effect: 'The animal is marked as sold.' },
  cancel: {
    act: 'Cancel order',
    done: 'Cancelled',
    effect: 'The animal becomes available to other buyers. A cancelled order cannot be reopened.',
  },
  return: {
    act: 'Return',
    done: 'Returned',
    effect: 'The animal becomes available again if it is still marked as sold.',
  },
};

/** Labels for operations for which `spaced` would give a poor label. */
export const operationLabels: Readonly<Partial<Record<OperationId, string>>> = {
  listPets: 'List animals',
  createPet: 'Add an animal',
  getPet: 'Get an animal (deprecated)',
  updatePet: 'Change an animal',
  deletePet: 'Delete an animal',
  getInventory: 'Count animals',
  getCategory: 'Get a category',
  putCategory: 'Name a category',
  deleteCategory: 'Delete a category',
  placeOrder: 'Place an order',
  getOrder: 'Get an order',
  approveOrder: 'Approve an order',
  deliverOrder: 'Deliver an order',
  cancelOrder: 'Cancel an order',
  returnOrder: 'Return an order',
  getRateLimit: 'Get rate limit',
};

const changeTones: Readonly<Record<string, Tone>> = {
  created: 'good',
  imported: 'good',
  placed: 'note',
  updated: 'note',
  deleted: 'bad',
  cancelled: 'warn',
  returned: 'warn',
  disabled: 'bad',
};

/** Event types keep their API names, so that operators can search for them. */
export function eventTypeLabel(type: EventType): Label {
  return { text: type, tone: changeTones[type.split('.')[1] ?? ''] ?? 'quiet' };
}

const groupWords: Readonly<Record<string, string>> = {
  'pet.*': 'pet.* (all animal events)',
  'order.*': 'order.* (all order events)',
  'category.*': 'category.* (all category events)',
  'webhook.*': 'webhook.* (all webhook events)',
} satisfies Record<(typeof typeGroups)[number], string>;

/** Display names for event selectors, with groups such as `webhook.*` first. */
export function eventTypeLabels(selectors: readonly EventSelector[]) {
  const words = selectors.map((selector) => [selector, { text: groupWords[selector] ?? selector }] as const);
  return Object.fromEntries(words.toSorted(([one], [other]) => rank(one) - rank(other)));
}

const rank = (selector: string) => (selector.endsWith('*') ? 0 : 1);

/** Descriptions of changes. `{}` stands for the object. */
const changes: Readonly<Record<string, string>> = {
  createAccount: 'Created {}',
  updateAccount: 'Changed {}',
  closeAccount: 'Closed {}',
  reopenAccount: 'Reopened {}',
  createKey: 'Issued {}',
  updateKey: 'Changed the scopes of {}',
  setKeyScopes: 'Changed the scopes of {}',
  rotateKey: 'Rotated {}',
  revokeKey: 'Revoked {}',
  beginLiftBan: 'Began lifting the ban on {}',
  liftBan: 'Lifted the ban on {}',
  createOperator: 'Added {}',
  rotateOperator: 'Rotated the token for {}',
  revokeOperator: 'Revoked {}',
  createPet: 'Added {}',
  updatePet: 'Changed {}',
  deletePet: 'Deleted {}',
  importPets: 'Imported animals: {}',
  placeOrder: 'Placed {}',
  approveOrder: 'Approved {}',
  deliverOrder: 'Delivered {}',
  cancelOrder: 'Cancelled {}',
  returnOrder: 'Returned {}',
  putCategory: 'Named {}',
  deleteCategory: 'Deleted {}',
  createBackup: 'Created {}',
  downloadBackup: 'Downloaded {}',
  disableWebhookByOperator: 'Disabled {}',
  enableWebhookByOperator: 'Enabled {}',
  testAccountWebhook: 'Sent a test event to {}',
  redeliverAccountEvents: 'Redelivered events to {}',
  redeliverAccountDelivery: 'Redelivered an event to {}',
  updateLogging: 'Changed logging: {}',
};

export const changedOperations = Object.keys(changes).toSorted();

/** Splits the description of a change into the words before and after its object. */
export function changeLabels(operation: string): readonly [before: string, behind: string] {
  const [before = '', behind = ''] = (changes[operation] ?? `${splitCamelCase(operation)}: {}`).split('{}');
  return [before, behind];
}

/** Converts an identifier to words: `createdAt` becomes `Created at`. */
export function splitCamelCase(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[._-]/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
