import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import * as z from 'zod';
import { adminOperations } from '../../src/contract/admin/operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { allOperations } from '../../src/contract/operations.ts';
import { readPlainQuery, readQuery } from '../../src/http/pipeline/query.ts';
import { always } from '../support/property.ts';

const operations: readonly Operation[] = [
  ...allOperations,
  ...Object.values<Operation>(adminOperations),
].filter(({ query }) => query !== undefined);

const texts = fc.oneof(
  fc.constantFrom(
    '1',
    '20',
    '100',
    '101',
    '0',
    '007',
    '-1',
    '9223372036854775807',
    '9223372036854775808',
    '1.0',
    '1e2',
  ),
  fc.constantFrom(
    'available',
    'sold',
    'placed',
    'asc',
    'desc',
    'name',
    'pet.created',
    '1,2,3',
    'x',
    '~',
    'true',
  ),
  fc.constantFrom(
    '2026-11-22',
    '2026-11-22T09',
    'minute',
    'hour',
    'open',
    'closed',
    'YXZhaWxhYmxlLjIw',
    'a_b',
  ),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
);

/** Queries with known, unknown and repeated names. */
const queriesOf = ({ query }: Operation) => {
  const names = [...Object.keys(query?.shape ?? {}), 'constructor', 'toString', 'colour'];
  const parameter = fc.tuple(fc.constantFrom(...names), texts).map(([name, text]) => `${name}=${text}`);
  return fc.array(parameter, { maxLength: 5 }).map((parts) => parts.join('&'));
};

/** The same query with an escape, which is validated as a whole. */
const escaped = (query: string) => `%${query.charCodeAt(0).toString(16)}${query.slice(1)}`;

describe('a query without escapes has the same values or mistakes as the same query with an escape', () => {
  for (const operation of operations) {
    test(operation.operationId, () => {
      always(queriesOf(operation), (query) => {
        if (query === '') return;
        const [one, other] = [readQuery(operation, query), readQuery(operation, escaped(query))];
        expect(one).toEqual(other);
        if ('value' in one && 'value' in other)
          expect(Object.keys(one.value as object)).toEqual(Object.keys(other.value as object));
      });
    });
  }
});

test('queries of lists are validated one parameter at a time', () => {
  const { query } = allOperations.find(({ operationId }) => operationId === 'listPets') ?? {};
  if (query === undefined) throw new Error('A list has a query.');
  expect(readPlainQuery(query, '')).toEqual({ limit: 20 });
  expect(readPlainQuery(query, 'limit=5&status=sold&minId=9')).toEqual({
    limit: 5,
    status: 'sold',
    minId: 9n,
  });
  expect(readPlainQuery(query, 'status=old')).toBeUndefined();
});

test('values are validated once, and invalid values do not displace valid ones from the cache', () => {
  const validated: string[] = [];
  const name = z.string().refine((text) => {
    validated.push(text);
    return !text.startsWith('bad');
  });
  const schema = z.strictObject({ name });
  for (let count = 0; count < 100; count++)
    expect(readPlainQuery(schema, `name=bad${count}`)).toBeUndefined();
  validated.length = 0;
  for (let count = 0; count < 3; count++)
    expect(readPlainQuery(schema, 'name=good')).toEqual({ name: 'good' });
  expect(validated).toEqual(['good']);
});
