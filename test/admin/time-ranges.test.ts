/** Filters by time, for every operation that has them. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import { dayMs } from '../../src/domain/clock.ts';
import { openDesk } from '../support/admin-answers.ts';

const desk = await openDesk();
afterAll(() => desk[Symbol.asyncDispose]());

/** Operations on an account or a key get the account and the key of `app.call`, which both have the id 2. */
const ranges = allAdminOperations
  .filter(({ query }) => query !== undefined && ['since', 'until'].every((name) => name in query.shape))
  .map(({ path }) => path.replace(/\{\w+\}/, '2'));

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

describe('until in the future', async () => {
  const { app, ask, done } = desk;
  const { id } = await done<{ id: number }>('POST', '/pets', { name: 'Ozzy', categoryId: 1 });
  await done('POST', '/orders', { petId: id });
  await app.call('GET', `/pets/${id}`);
  await app.app.watch.recordUsage();

  test.each(ranges)('has no effect: %s', async (path) => {
    const { text } = await ask('GET', path);
    expect(text).toContain('{');
    for (const until of [new Date(app.clock.now() + dayMs).toISOString(), '9999-12-31T23:59:59Z'])
      expect((await ask('GET', `${path}?until=${until}`)).text).toBe(text);
  });
});

test('a since value in the distant past does not increase the number of reads, each of which takes an event-loop tick', async () => {
  using ticks = spyOn(globalThis, 'setImmediate');
  await desk.done('GET', '/usage/operations?since=0001-01-01T00:00:00Z');
  expect(ticks.mock.calls.length).toBeLessThan(1_000);
});
