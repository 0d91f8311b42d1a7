/** Every table that both engines have, in an order in which none refers to a later one. */
import { accounts, keys } from './accounts.ts';
import { answers } from './answers.ts';
import { categories } from './categories.ts';
import { events } from './events.ts';
import { imports } from './imports.ts';
import { audit, operators, sessions } from './operators.ts';
import { orders } from './orders.ts';
import { pets } from './pets.ts';
import { int64, integer, type Table, table, text } from './table.ts';
import { instances, usageDays, usageHours, usageMinutes, usageReports } from './usage.ts';
import { deliveries, webhooks } from './webhooks.ts';

/** The highest id that each table gave out. First, so that `copy` never gives out the id of a removed row again. */
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
  answers,
  operators,
  audit,
  usageMinutes,
  usageHours,
  usageDays,
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
 * Tables whose reads and writes follow from their descriptions alone, by the name that stores and transactions give them. A
 * new entity needs no more than a description here and a migration of each engine.
 */
export const entities = { categories, orders, operators, instances, webhooks, deliveries } as const;

export type Entities = typeof entities;
