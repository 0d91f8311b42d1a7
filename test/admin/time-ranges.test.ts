/** Filters by time, for every operation that has them. */
import { afterAll, expect, test } from 'bun:test';
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import { openDesk } from '../support/admin-answers.ts';

const desk = await openDesk();
afterAll(() => desk[Symbol.asyncDispose]());

const ranges = allAdminOperations
  .filter(({ query }) => query !== undefined && ['since', 'until'].every((name) => name in query.shape))
  .map(({ path }) => path.replace(/\{\w+\}/, '1'));

test('at least ten lists accept both since and until', () => {
  expect(ranges.length).toBeGreaterThanOrEqual(10);
});

test.each(ranges)(
  'a since value later than until is rejected with an error that names both parameters: %s',
  async (path) => {
    const answer = await desk.ask('GET', `${path}?since=2026-11-22T00:00:00Z&until=2026-11-21T00:00:00Z`);
    expect([answer.status, answer.code]).toEqual([400, 'invalid_parameter']);
    expect(answer.body).toMatchObject({
      message: 'The request is invalid: until must not be before since.',
    });
    const same = await desk.ask('GET', `${path}?since=2026-11-21T00:00:00Z&until=2026-11-21T00:00:00Z`);
    expect(same.code).not.toBe('invalid_parameter');
  },
);
