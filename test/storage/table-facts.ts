/** Facts about each table that the tests in this folder need, in addition to its schema. */
import type { Resource } from '../../src/domain/resources.ts';
import { tables } from '../../src/tables/tables.ts';

interface TableFacts {
  /**
   * The resource whose version increases with each change to the table. Units that read or change the table lock it.
   */
  readonly resource?: Resource | undefined;
  /**
   * The resource that units lock for this table. Changes to the table do not increase the resource's version, because
   * no response shows the table.
   */
  readonly lock?: Resource;
  /** Reason why no unit locks a resource for this table. */
  readonly unlocked?: string;
}

/** Tables of one engine, without a description in `src/tables/`, each with the reason. */
export const undescribed: Readonly<Record<string, string>> = {
  versions: 'the versions of resources on SQLite; each store counts its own',
  animal_store_format: 'the format of this database',
  store: 'identifies this database',
  changed_ranges: 'versions of ranges of ids, which begin again after a move',
  webhook_paces: 'how fast deliveries were sent in the last second',
  unnumbered_events: 'events on their way to `events`, numbered before the copy',
  redis_readings: 'which Redis each running process uses',
  former_instances: 'instances that were running during an upgrade',
  usage_snapshots: 'what Redis is restored from; limits begin again after a move',
  ban_snapshots: 'what Redis is restored from; bans end with a move',
};

const ownRows = 'concurrent writers wait for the row itself';
const operatorsOnly = 'a session is checked against its operator with every request';

/** Lock keys of tables that have no resource. */
const locks: Readonly<Record<string, TableFacts>> = {
  imports: { lock: 'pets' },
  idempotent_answers: { lock: 'pets' },
  operators: { unlocked: operatorsOnly },
  sessions: { unlocked: operatorsOnly },
  audit: { unlocked: 'entries are only appended' },
  usage_minutes: { unlocked: ownRows },
  usage_operation_hours: { unlocked: ownRows },
  usage_key_operations: { unlocked: ownRows },
  latency_minutes: { unlocked: ownRows },
  latency_hours: { unlocked: ownRows },
  usage_hours: { unlocked: ownRows },
  usage_days: { unlocked: ownRows },
  usage_reports: { unlocked: ownRows },
  instances: { unlocked: ownRows },
  deliveries: { unlocked: 'the process that sends an event leases its row' },
  // On PostgreSQL, a lock is a row lock in this table.
  counters: { unlocked: ownRows },
};

export const tableFacts: Readonly<Record<string, TableFacts>> = {
  ...Object.fromEntries(tables.map(({ name, resource }) => [name, { resource }])),
  ...locks,
};

/** Columns of one engine that `src/tables/` does not describe, each with the reason. */
export const columnsOfOneEngine: Readonly<Record<string, string>> = {
  'counters.version': 'SQLite has versions in a table; each store counts its own',
  'counters.history': 'a data file has one history; ids that a restore lost are known to no other server',
  'inventory.id': 'SQLite keeps the table to one row by its key',
};

/** Units that touch a table without the lock it needs, each with the reason. */
export const unlockedUses: Readonly<Record<string, string>> = {
  'pruneResponses idempotent_answers':
    'removes only answers that are too old to be found, and skips locked rows',
  'dispatchDeliveries webhooks': 'locks the rows of webhooks, and changes nothing that responses show',
  'releaseDeliveries webhooks': 'changes no reference',
  'rescheduleDeliveries webhooks': 'changes no reference',
  'sweepWebhooks webhooks': 'removes only deleted webhooks, and locks the row',
  'trimDeliveries webhooks': 'a new webhook has no finished deliveries',
  'addPaces webhooks': 'a trigger adds the pace of a webhook that is created during the migration',
  'dispatchDeliveries keys': 'a change of a key takes effect in the next round',
  'dispatchDeliveries accounts': 'closing an account takes effect in the next round',
  'dispatchDeliveries events': 'events behind the last number are complete',
};

/** Units whose sample calls change nothing, each with the reason. */
export const idleUnits: Readonly<Record<string, string>> = {
  addPaces: 'a trigger has added the paces',
  trimDeliveries: 'no finished deliveries remain',
};

/** Units that change a resource without increasing its version, each with the reason. */
export const silentChanges: Readonly<Record<string, string>> = {
  'createAccount callers': 'an account without keys is not a caller',
  'dispatchDeliveries webhooks': 'no response shows the position and the last success',
  'sweepWebhooks webhooks': 'no response shows deleted webhooks',
  'redeliverEvents webhooks': 'no response shows the position',
  'redeliverAccountEvents webhooks': 'no response shows the position',
};

/** References to rows that may not exist, each with the reason. */
export const danglingReferences: Readonly<Record<string, string>> = {
  'orders.pet_id': 'an order outlives its animal',
  'pets.category_id': 'an animal may be in a category without a name',
  'inventory_by_category.category_id': 'also counts the animals of such categories',
  'events.account_id': 'accounts are closed, never deleted',
  'webhooks.account_id': 'accounts are closed, never deleted',
  'webhook_paces.account_id': 'accounts are closed, never deleted',
  'deliveries.event_id': 'a delivery may outlast its event',
  'usage_hours.key_id': 'keys are revoked, never deleted',
  'usage_hours.account_id': 'accounts are closed, never deleted',
  'usage_key_operations.key_id': 'keys are revoked, never deleted',
  'usage_days.key_id': 'keys are revoked, never deleted',
  'usage_days.account_id': 'accounts are closed, never deleted',
};
