/** The resources that are locked when one unit of work runs another. */
import { expect, test } from 'bun:test';
import { units } from '../../src/operations/units.ts';
import { groupIntoRuns } from '../../src/storage/unit-of-work.ts';

const writesOf = (name: string, input: unknown) => groupIntoRuns(units, [{ name, input }])[0]?.writes;

test('a request with an Idempotency-Key locks only the resources that its unit of work declares', () => {
  expect(writesOf('once', { operationId: 'placeOrder' })).toEqual(['pets', 'orders']);
  expect(writesOf('once', { operationId: 'putCategory' })).toEqual(['categories']);
});

test('a change by an operator locks only the resources that its unit of work declares', () => {
  expect(writesOf('audited', { unit: 'updateAccount' })).toEqual(['callers']);
  expect(writesOf('audited', { unit: 'updatePet' })).toEqual(['pets', 'orders']);
});

test('a change by an operator locks the callers if its unit of work declares no resources', () => {
  expect(writesOf('audited', { unit: 'rotateOperator' })).toEqual(['callers']);
});
