/** What the checks of this folder have to know of each table of either engine, beside its schema. */
import type { Resource } from '../../src/domain/resources.ts';

interface TableFacts {
  /** Its version rises with each change of the table, and a unit that reads or changes the table locks it. */
  readonly resource?: Resource;
  /** Units lock it, but no version rises, since no response shows the table. */
  readonly lock?: Resource;
  /** Why no unit locks a resource for it. */
  readonly unlocked?: string;
  /** Why `copy` leaves it out. */
  readonly notCopied?: string;
}

const ownRows = 'concurrent writers wait for the row itself';
const operatorsOnly = 'a session is checked against its operator with every request';
const derived = 'the target counts the animals as they are added';
const notInUnits = 'no unit of work reads or changes it';

export const tableFacts: Readonly<Record<string, TableFacts>> = {
  accounts: { resource: 'callers' },
  keys: { resource: 'callers' },
  pets: { resource: 'pets' },
  inventory: { resource: 'pets', notCopied: derived },
  inventory_by_category: { resource: 'pets', notCopied: derived },
  categories: { resource: 'categories' },
  orders: { resource: 'orders' },
  imports: { lock: 'pets' },
  idempotent_answers: { lock: 'pets' },
  operators: { unlocked: operatorsOnly },
  sessions: { unlocked: operatorsOnly, notCopied: 'operators sign in again after a move' },
  audit: { unlocked: 'entries are only appended' },
  usage_minutes: { unlocked: ownRows },
  usage_hours: { unlocked: ownRows },
  usage_days: { unlocked: ownRows },
  instances: { unlocked: ownRows, notCopied: 'instances report themselves' },
  // On PostgreSQL a lock is a lock of a row of this table.
  counters: { unlocked: ownRows },
  versions: { unlocked: 'the writer raises it', notCopied: 'each store counts its own versions' },
  animal_store_format: { unlocked: notInUnits, notCopied: 'the target has its own format' },
  store: { unlocked: notInUnits, notCopied: 'identifies one database' },
  usage_snapshots: { unlocked: notInUnits, notCopied: 'limits begin again after a move' },
  ban_snapshots: { unlocked: notInUnits, notCopied: 'bans end with a move' },
};

/** Columns that `copy` leaves out of tables that it copies, each with the reason. */
export const columnsNotCopied: Readonly<Record<string, string>> = {
  'counters.version': 'each store counts its own versions',
};

/** Columns that only one engine has, each with the reason. */
export const columnsOfOneEngine: Readonly<Record<string, string>> = {
  'counters.version': 'SQLite has versions in a table',
  'inventory.id': 'SQLite keeps the table to one row by its key',
};

/** Units that touch a table without the lock it needs, each with the reason. */
export const unlockedUses: Readonly<Record<string, string>> = {
  'pruneAnswers idempotent_answers':
    'removes only answers that are too old to be found, and skips locked rows',
};

/** Units whose change of a resource raises no version, each with the reason. */
export const silentChanges: Readonly<Record<string, string>> = {
  createAccount: 'an account without keys is no caller',
};

/** References that may lead to a row that does not exist, each with the reason. */
export const danglingReferences: Readonly<Record<string, string>> = {
  'orders.pet_id': 'an order outlives its animal',
  'pets.category_id': 'an animal may be in a category that nobody named',
  'inventory_by_category.category_id': 'counts the animals of such categories, too',
  'usage_hours.key_id': 'keys are revoked, never deleted',
  'usage_hours.account_id': 'accounts are closed, never deleted',
  'usage_days.key_id': 'keys are revoked, never deleted',
  'usage_days.account_id': 'accounts are closed, never deleted',
};
