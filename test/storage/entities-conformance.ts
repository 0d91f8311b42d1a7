/** On every engine, the rows of every fully described table can be stored, found and listed. */
import { expect } from 'bun:test';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import { resources } from '../../src/domain/resources.ts';
import type { EntityReads, EntityWrites } from '../../src/storage/entity.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import type { Column, Table } from '../../src/tables/table.ts';
import { entities } from '../../src/tables/tables.ts';
import { randomFrom } from '../support/random.ts';
import type { Bench, StoreTest } from './place.ts';
import { newPet } from './samples.ts';

type Row = Readonly<Record<string, unknown>>;
type Rows = EntityReads<Table<Row, Row, Row>>;
type EntityName = keyof typeof entities;

const count = 40;
/** Number of rows that other rows may reference. */
const referred = 3;

const onTable = { writes: resources };
const tableOf = (transaction: Transaction, name: string) =>
  transaction[name as EntityName] as unknown as EntityWrites<Table<Row, Row, Row>>;

const entityUnits = {
  addRow: {
    ...onTable,
    run: (transaction: Transaction, [name, row]: readonly [string, Row]) =>
      tableOf(transaction, name).addUnique(row),
  },
  updateRow: {
    ...onTable,
    run: (transaction: Transaction, [name, key, changes]: readonly [string, unknown, Row]) =>
      tableOf(transaction, name).update(key as never, changes),
  },
  removeRow: {
    ...onTable,
    run: (transaction: Transaction, [name, key]: readonly [string, unknown]) =>
      tableOf(transaction, name).remove(key as never),
  },
  findRow: {
    ...onTable,
    run: (transaction: Transaction, [name, key]: readonly [string, unknown]) =>
      tableOf(transaction, name).find(key as never),
  },
} as const satisfies Units;

/**
 * A value for a column. Numbers have few distinct values, so that several rows have the same number. Text is always
 * distinct, because it may have to be unique.
 */
function columnValue(
  { type, values, read, is }: Column,
  isReference: boolean,
  at: number,
  random: () => number,
): unknown {
  const among = <Value>(some: readonly Value[]) => some[Math.floor(random() * some.length)];
  if ((is === 'nullable' || is === 'optional') && random() < 0.3) return is === 'nullable' ? null : undefined;
  if (values !== undefined) return among(values);
  if (type === 'boolean') return random() < 0.5;
  if (type === 'text') {
    const text = `${at} ' "quoted" \u2028 猫 %_\\`;
    return read === undefined ? text : read(text as never);
  }
  if (isReference) return BigInt(1 + Math.floor(random() * referred));
  return read === undefined
    ? among([int64Min, -1n, 0n, 2n ** 53n + 1n, int64Max])
    : among([0, 7, 1_800_000_000_001]);
}

function rowOf({ columns, key, isCounted, references }: Table, at: number, random: () => number): Row {
  const names = Object.keys(columns).filter((name) => !(isCounted && key.includes(name)));
  const made = names.map((name) => {
    // Keys chosen by clients are not inserted in ascending order.
    if (key.includes(name) && columns[name]?.type === 'integer')
      return [name, BigInt((at * 7) % count) - 20n];
    return [name, columnValue(columns[name] as Column, name in references, at, random)];
  });
  return Object.fromEntries(made);
}

/** The readable columns of a row, without secrets. */
function readOf({ columns }: Table, row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => columns[name]?.is !== 'secret'));
}

async function filled(name: string, table: Table, { store, besideWith }: Bench) {
  const { write } = await besideWith(entityUnits);
  const random = randomFrom(20_261_122);
  for (let at = 0; at < referred; at++) {
    await store.write('createPet', { now: 0, body: newPet(`${at}`) });
    for (const parent of Object.values(table.references)) {
      const described = entities[parent as EntityName] as unknown as Table | undefined;
      if (described !== undefined) await write('addRow', [parent, rowOf(described, at, random)]);
    }
  }
  const added: Row[] = [];
  for (let at = 0; at < count; at++) {
    const row = rowOf(table, at, random);
    const made = await write('addRow', [name, row]);
    // Another row has the same values in a unique index.
    if (made === undefined) continue;
    expect(made).toEqual({ ...readOf(table, row), ...(table.isCounted && { id: made.id }) });
    // The row is stored, but no read may return it.
    if (table.deleted !== undefined && row[table.deleted.name] === table.deleted.is) continue;
    added.push(made);
  }
  expect(added.length).toBeGreaterThan(count / 3);
  return { rows: store[name as EntityName] as unknown as Rows, write, added };
}

const keyOf = ({ key }: Table, row: Row) => row[key[0] ?? ''] as never;

/** Sorts rows in list order. */
function listed(table: Table, rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => (isBehind(table, other, one) ? -1 : 1));
}

function isBehind(table: Table, row: Row, other: Row): boolean {
  const [key, after] = [keyOf(table, row), keyOf(table, other)];
  return table.isNewestFirst ? key < after : key > after;
}

export function entitiesConform(check: StoreTest): void {
  for (const [name, described] of Object.entries(entities)) {
    const table = described as unknown as Table;
    check(`${name}: a row is returned unchanged until it is updated or removed`, async (bench) => {
      const { rows, write, added } = await filled(name, table, bench);
      for (const row of added) expect(await rows.find(keyOf(table, row))).toEqual(row as never);
      expect(listed(table, await rows.findMany(added.map((row) => keyOf(table, row))))).toEqual(
        listed(table, added),
      );
      const [first, second] = added as [Row, Row];
      const column = Object.keys(table.columns).findLast(
        (each) => table.columns[each]?.type === 'integer' && !table.key.includes(each),
      );
      const changes = column === undefined ? {} : { [column]: typeof first[column] === 'bigint' ? 5n : 5 };
      if (column !== undefined) await write('updateRow', [name, keyOf(table, first), changes]);
      expect(await write('findRow', [name, keyOf(table, first)])).toEqual({ ...first, ...changes });
      await write('removeRow', [name, keyOf(table, second)]);
      expect(await rows.find(keyOf(table, second))).toBeUndefined();
      expect((await rows.list()).length).toBe(added.length - 1);
    });

    check(
      `${name}: every combination of filters lists the matching rows in key order, starting after any row`,
      async (bench) => {
        const { rows, added } = await filled(name, table, bench);
        const sorted = listed(table, added);
        for (let chosen = 0; chosen < 2 ** table.filters.length; chosen++) {
          const names = table.filters.filter((_, index) => chosen & (1 << index));
          for (const { filter, fits } of filtersBy(names, sorted)) {
            const expected = sorted.filter(fits);
            expect(await rows.list(undefined, 1_000, filter)).toEqual(expected as never);
            for (const after of [sorted[0], sorted[9], sorted.at(-1)] as Row[]) {
              const behind = expected.filter((row) => isBehind(table, row, after));
              expect(await rows.list(keyOf(table, after), 3, filter)).toEqual(behind.slice(0, 3) as never);
            }
            const newest = table.isNewestFirst ? expected : expected.toReversed();
            const before = keyOf(table, newest[0] as Row);
            expect(await rows.listNewest(undefined, 1_000, filter)).toEqual(newest as never);
            expect(await rows.listNewest(before, 3, filter)).toEqual(newest.slice(1, 4) as never);
          }
        }
      },
    );
  }
}

/** A filter for each combination of existing values, with a predicate for matching rows. */
function filtersBy(names: readonly string[], rows: readonly Row[]) {
  const filters = new Map(
    rows.flatMap((row) => {
      const filter = Object.fromEntries(names.map((name) => [name, row[name]]));
      const values = Object.values(filter);
      // A filter without a value selects everything.
      return values.some((value) => value === undefined || value === null)
        ? []
        : [[values.join(' '), filter]];
    }),
  );
  return [...filters.values()].map((filter) => ({
    filter,
    fits: (row: Row) => names.every((name) => row[name] === filter[name]),
  }));
}
