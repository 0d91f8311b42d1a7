/** Every table that both engines have. No table references a table that comes later in this list. */
import { accounts, keys } from './accounts.ts';
import { categories } from './categories.ts';
import { events } from './events.ts';
import { imports } from './imports.ts';
import { audit, operators, sessions } from './operators.ts';
import { orders } from './orders.ts';
import { pets } from './pets.ts';
import { storedResponses } from './stored-responses.ts';
import { int64, integer, type Table, table, text } from './table.ts';
import {
  instances,
  latencyByHour,
  latencyByMinute,
  operationUsageByHour,
  usageByDay,
  usageByHour,
  usageByKeyAndOperation,
  usageByMinute,
  usageReports,
} from './usage.ts';
import { deliveries, webhooks } from './webhooks.ts';

/** The highest id that each table has assigned. Copied first, so that a copy never reuses the id of a deleted row. */
const counters = table('counters', { name: text, last: int64 }, { key: ['name'] });

const counts = { available: integer, pending: integer, sold: integer } as const;
const derived = 'the target counts the animals as they are added';
const inventory = table('inventory', counts, { key: [], resource: 'pets', notCopied: derived });
const inventoryByCategory = table(
  'inventory_by_category',
  { categoryId: int64, ...counts },
  { key: ['categoryId'], resource: 'pets', notCopied: derived },
);

export const tables: readonly Table[] = [
  counters,
  accounts,
  keys,
  imports,
  pets,
  categories,
  orders,
  events,
  storedResponses,
  operators,
  audit,
  usageByMinute,
  operationUsageByHour,
  latencyByMinute,
  latencyByHour,
  usageByHour,
  usageByDay,
  usageByKeyAndOperation,
  usageReports,
  sessions,
  instances,
  inventory,
  inventoryByCategory,
  webhooks,
  deliveries,
];

export const copiedTables: readonly Table[] = tables.filter(({ notCopied }) => notCopied === undefined);

/**
 * Tables whose reads and writes are derived entirely from their descriptions, keyed by their names in stores and
 * transactions. To add one, write its description here and a migration for each engine.
 */
export const entities = { categories, orders, operators, instances, webhooks, deliveries } as const;

export type Entities = typeof entities;
