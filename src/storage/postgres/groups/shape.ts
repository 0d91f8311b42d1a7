import { answers } from '../../../tables/answers.ts';
import { categories } from '../../../tables/categories.ts';
import { imports } from '../../../tables/imports.ts';
import { audit } from '../../../tables/operators.ts';
import type { Table } from '../../../tables/table.ts';
import type { TableChange, TablePart } from './statement.ts';

/**
 * Tables without triggers. Including such a table costs little, even if the group has no rows for it. Rarely changed
 * tables form a bundle.
 */
const bundles = [
  [answers],
  [audit, categories, imports],
] as readonly unknown[] as readonly (readonly Table[])[];

/**
 * Adds tables for which the group has no rows, to limit the number of distinct statements. A prepared statement takes
 * about half a megabyte per connection on the server. Tables with triggers are included only if the group has rows for
 * them.
 */
export function shaped(changes: readonly TableChange[]): TablePart[] {
  const changed = new Set(changes.map(({ table }) => table));
  const others = bundles.filter((bundle) => bundle.some((table) => changed.has(table))).flat();
  const exact = changes.filter(({ table }) => !others.includes(table));
  return [
    ...exact.map((part) => ({ ...part, isRead: true, lookups: lookupsOf(part.table) })),
    ...others.map((table) => {
      // Groups only add rows to bundled tables whose ids come from a counter.
      const isKeyed = !table.isCounted;
      return { table, isRead: isKeyed, isAdded: true, isChanged: isKeyed, isRemoved: isKeyed, lookups: [] };
    }),
  ].toSorted((one, other) => (one.table.name < other.table.name ? -1 : 1));
}

const lookupsOf = ({ lookups }: Table) =>
  Object.entries(lookups).flatMap(([name, { by }]) => (by.length === 1 ? [name] : []));
