import { answers } from '../../../tables/answers.ts';
import { categories } from '../../../tables/categories.ts';
import { imports } from '../../../tables/imports.ts';
import { audit } from '../../../tables/operators.ts';
import type { Table } from '../../../tables/table.ts';
import type { TableChange, TablePart } from './statement.ts';

/**
 * Tables without triggers. For such a table, a statement part without rows costs little. The parts of rarely changed
 * tables are added as a bundle.
 */
const bundles = [
  [answers],
  [audit, categories, imports],
] as readonly unknown[] as readonly (readonly Table[])[];

/**
 * Adds parts without rows, so that all groups use a few distinct statements. Each connection prepares every statement,
 * which takes about half a megabyte on the server. Parts that fire triggers are included only if they have rows.
 */
export function shaped(changes: readonly TableChange[]): TablePart[] {
  const changed = new Set(changes.map(({ table }) => table));
  const others = bundles.filter((bundle) => bundle.some((table) => changed.has(table))).flat();
  const exact = changes.filter(({ table }) => !others.includes(table));
  return [
    ...exact.map((part) => ({ ...part, isRead: true, lookups: lookupsOf(part.table) })),
    ...others.map((table) => {
      // Rows with ids from a counter are only added to these tables, never read.
      const isKeyed = !table.isCounted;
      return { table, isRead: isKeyed, isAdded: true, isChanged: isKeyed, isRemoved: isKeyed, lookups: [] };
    }),
  ].toSorted((one, other) => (one.table.name < other.table.name ? -1 : 1));
}

const lookupsOf = ({ lookups }: Table) =>
  Object.entries(lookups).flatMap(([name, { by }]) => (by.length === 1 ? [name] : []));
