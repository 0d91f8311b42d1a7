/**
 * Rules for all units of work, checked against the changes that the units of `sample-calls.ts` make to the tables of
 * both engines. A new unit needs a call there, and a new table needs a row in `table-facts.ts`.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { type Resource, resources } from '../../src/domain/resources.ts';
import { units } from '../../src/operations/units.ts';
import type { Units } from '../../src/storage/transaction.ts';
import { testServers } from '../support/servers.ts';
import { sampleCalls } from './sample-calls.ts';
import { demand, type Reference, referencesIn, type Schema } from './schema.ts';
import { danglingReferences, idleUnits, silentChanges, tableFacts, unlockedUses } from './table-facts.ts';
import {
  type Contents,
  type Effect,
  type Effects,
  postgresEffects,
  type Row,
  sqliteEffects,
} from './unit-effects.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const engines: readonly (readonly [string, Effects])[] = [
  ['SQLite', await sqliteEffects()],
  ...(servers === undefined ? [] : [['PostgreSQL', await postgresEffects(servers)] as const]),
];

const writesOf = (name: string): readonly Resource[] => (units as Units)[name]?.writes ?? [];

const isSame = (one: unknown, other: unknown) => Bun.deepEquals(one, other, true);

function changedTables({ before, after }: Effect): string[] {
  return Object.keys(after).filter((table) => !isSame(before[table], after[table]));
}

/** Rows of the table that `one` contains and `other` does not, compared by value. */
function difference(one: Contents, other: Contents, table: string): Row[] {
  return (one[table] ?? []).filter((row) => !(other[table] ?? []).some((same) => isSame(row, same)));
}

/** Rows whose key no longer exists. */
function deleted({ before, after }: Effect, schema: Schema, table: string): Row[] {
  const key = schema[table]?.key ?? [];
  const identity = (row: Row) => `${key.map((column) => row[column])}`;
  const left = new Set((after[table] ?? []).map(identity));
  return key.length === 0 ? [] : (before[table] ?? []).filter((row) => !left.has(identity(row)));
}

const nameOf = ({ table, column }: Reference) => `${table}.${column}`;

test('every unit of work has a sample call', () => {
  const called = new Set<string>(sampleCalls.map(([name]) => name));
  demand(
    'Add a call to sampleCalls in test/storage/sample-calls.ts for the unit of work:',
    Object.keys(units).filter((name) => !called.has(name)),
  );
});

describe.each(engines)('on %s', (_engine, { schema, effects }) => {
  test('a unit of work locks every resource whose tables it reads or changes', () => {
    demand(
      "Add the resource to the unit's `writes`, or another instance can change it before the commit:",
      effects.flatMap((effect) => {
        const [name] = effect.call;
        return [...effect.touched, ...changedTables(effect)].flatMap((table) => {
          const { resource, lock = resource } = tableFacts[table] ?? {};
          if (lock === undefined || writesOf(name).includes(lock) || `${name} ${table}` in unlockedUses)
            return [];
          return [`${name} uses the table ${table}, which needs "${lock}"`];
        });
      }),
    );
  });

  test('every unit of work changes a table', () => {
    const changing = new Set<string>(
      effects.filter((effect) => changedTables(effect).length > 0).map(({ call: [name] }) => name),
    );
    demand(
      'Change the order or the input of its sample calls, unless it is wrongly listed in idleUnits of test/storage/table-facts.ts:',
      Object.keys(units).filter((name) => changing.has(name) === name in idleUnits),
    );
  });

  test('a unit of work that stores a reference locks the referenced resource', () => {
    const references = referencesIn(schema).filter((reference) => !(nameOf(reference) in danglingReferences));
    demand(
      "Add the resource to the unit's `writes`, or the row can be deleted before the commit. If it may be, list the " +
        'reference with the reason in danglingReferences of test/storage/table-facts.ts:',
      effects.flatMap(({ call: [name], before, after }) =>
        references
          .filter(({ table, column }) => difference(after, before, table).some((row) => row[column] !== null))
          .flatMap((reference) => {
            const { to } = reference;
            const { resource } = tableFacts[to] ?? {};
            const isLocked = writesOf(name).includes(resource as Resource) || `${name} ${to}` in unlockedUses;
            if (resource === undefined || isLocked) return [];
            return [`${name} stores ${nameOf(reference)}, which needs "${resource}"`];
          }),
      ),
    );
  });

  test('a unit of work increments exactly the versions of the resources it changes', () => {
    demand(
      'Raise the version of the resource in the statement that changes it. A new resource needs a row in `versions` ' +
        '(SQLite) and in `counters` (PostgreSQL), which a migration adds:',
      effects.flatMap((effect) => {
        const [name] = effect.call;
        const changed = new Set(changedTables(effect).map((table) => tableFacts[table]?.resource));
        const expected = resources.filter(
          (resource) => changed.has(resource) && !(`${name} ${resource}` in silentChanges),
        );
        return isSame(effect.raised, expected)
          ? []
          : [`${name} changes "${expected}" and raises "${effect.raised}"`];
      }),
    );
    const raised = new Set(effects.flatMap((effect) => effect.raised));
    demand(
      'Add a call that changes the resource to sampleCalls in test/storage/sample-calls.ts:',
      resources.filter((resource) => !raised.has(resource)),
    );
  });

  test('no row refers to a deleted row', () => {
    const references = referencesIn(schema).filter(({ to }) => schema[to]?.key.length === 1);
    const orphans: string[] = [];
    const deletions = new Map<Reference, { readonly by: string; isReferred: boolean }>();
    for (const effect of effects) {
      const [by] = effect.call;
      for (const reference of references) {
        const { table, column, to } = reference;
        const key = schema[to]?.key[0] ?? '';
        const gone = new Set(deleted(effect, schema, to).map((row) => row[key]));
        if (gone.size === 0) continue;
        const refers = (row: Row) => gone.has(row[column]);
        const known = deletions.get(reference)?.isReferred ?? false;
        deletions.set(reference, { by, isReferred: known || (effect.before[table] ?? []).some(refers) });
        if (!(nameOf(reference) in danglingReferences) && (effect.after[table] ?? []).some(refers)) {
          orphans.push(`${by} deletes from ${to} and leaves rows with its id in ${nameOf(reference)}`);
        }
      }
    }
    demand(
      'Also delete these rows, or list the reference with the reason in danglingReferences of test/storage/table-facts.ts:',
      orphans,
    );
    demand(
      'Add a call that stores the reference before the deletion to sampleCalls in test/storage/sample-calls.ts:',
      [...deletions].flatMap(([reference, { by, isReferred }]) =>
        isReferred ? [] : [`No row of ${nameOf(reference)} refers to what ${by} deletes`],
      ),
    );
    expect(deletions.size).toBeGreaterThan(0);
  });
});

test('every exception to these rules refers to an existing unit of work', () => {
  const names = [...Object.keys({ ...silentChanges, ...unlockedUses }).map((use) => use.split(' ')[0] ?? '')];
  demand(
    'Remove the exception from test/storage/table-facts.ts:',
    names.filter((name) => !(name in units)),
  );
});
