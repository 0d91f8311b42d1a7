/**
 * Statements that store groups of changes. Their number is limited, because every connection prepares each statement,
 * and the server caches the plans.
 */
import { expect, test } from 'bun:test';
import {
  buildGroupStatement,
  shaped,
  type TableChange,
} from '../../src/storage/postgres/groups/statement.ts';
import { categories } from '../../src/tables/categories.ts';
import { imports } from '../../src/tables/imports.ts';
import { audit } from '../../src/tables/operators.ts';
import { orders } from '../../src/tables/orders.ts';
import { pets } from '../../src/tables/pets.ts';
import { storedResponses } from '../../src/tables/stored-responses.ts';
import type { Table } from '../../src/tables/table.ts';

const flags = [false, true];

/** Every way in which a group can use a table. Undefined if it neither reads nor changes the table. */
const changesOf = (table: unknown): (TableChange | undefined)[] => [
  undefined,
  ...flags.flatMap((isAdded) =>
    flags.flatMap((isChanged) =>
      flags.map((isRemoved) => ({ table: table as Table, isAdded, isChanged, isRemoved })),
    ),
  ),
];

test('the changes of every group use one of a small number of statements', () => {
  const texts = new Set<string>();
  let groups: TableChange[][] = changesOf(pets).map((change) => (change === undefined ? [] : [change]));
  for (const table of [categories, storedResponses, audit, imports]) {
    groups = groups.flatMap((group) =>
      changesOf(table)
        .slice(0, 3)
        .map((change) => (change === undefined ? group : [...group, change])),
    );
  }
  for (const group of groups)
    texts.add(JSON.stringify(shaped(group).map(({ table: { name }, ...part }) => [name, part])));
  // A statement changes animals in one of eight ways, or does not use them. The other tables form two bundles. A
  // statement uses either all tables of a bundle or none.
  expect(texts.size).toBeLessThanOrEqual((8 + 1) * 2 * 2);
  const readOnly = { isAdded: false, isChanged: false, isRemoved: false };
  const isStoredAlike = (change: Partial<TableChange>) =>
    buildGroupStatement(shaped([{ ...readOnly, ...change, table: categories as Table }]));
  expect(isStoredAlike({ isAdded: true })).toBe(isStoredAlike({ isRemoved: true }));
  // A statement that changes no rows would still run triggers.
  expect(buildGroupStatement(shaped([{ ...readOnly, table: orders as Table }]))).not.toContain(
    'UPDATE orders',
  );
});
