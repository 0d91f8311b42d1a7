/** Declared resources of a unit of work that runs another unit. */
import { expect, test } from 'bun:test';
import { units } from '../../src/operations/units.ts';
import { runsOf } from '../../src/storage/unit-of-work.ts';

const writesOf = (name: string, input: unknown) => runsOf(units, [{ name, input }])[0]?.writes;

test('a request with an Idempotency-Key writes only what its unit declares', () => {
  expect(writesOf('once', { operationId: 'placeOrder' })).toEqual(['pets', 'orders']);
  expect(writesOf('once', { operationId: 'putCategory' })).toEqual(['categories']);
});

test('a change by an operator writes only what its unit declares', () => {
  expect(writesOf('audited', { unit: 'updateAccount' })).toEqual(['callers']);
  expect(writesOf('audited', { unit: 'updatePet' })).toEqual(['pets', 'orders']);
});

test('a change by an operator whose unit declares no writes still excludes others', () => {
  expect(writesOf('audited', { unit: 'rotateOperator' })).toEqual(['callers']);
});
