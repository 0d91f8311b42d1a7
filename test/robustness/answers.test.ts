/** Error responses stay small, even if a request contains many errors. */
import { expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';

const app = await startAppForFile();

test.each(['a=&', '=&', 'limit=1&'])(
  'the same error repeated throughout a 14,000-byte query is reported only once (%s)',
  async (parameter) => {
    const answer = await app.call('GET', `/pets?${parameter.repeat(14_000 / parameter.length)}`);
    expect(answer.status).toBe(400);
    // The other error is that the query has too many parameters.
    const names = answer.error.details?.map(({ name }) => name) ?? [];
    expect([...new Set(['', ...names])].toSorted()).toEqual(names.toSorted());
    expect(names.length).toBeLessThanOrEqual(2);
    expect(answer.text.length).toBeLessThan(1_000);
  },
);

/** Distinct names. */
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

const unknown = JSON.stringify(Object.fromEntries(names(1_500).map((name) => [name, 1])));
const twice = `{${names(700).map((name) => `"${name}":1,"${name}":1`)}}`;

// The bodies also lack `name` and `categoryId`, which counts as two more errors. Of the query, 128 parameters are read, and
// their number is another error.
test.each([
  ['query', 129, 'GET', names(2_300).join('&'), {}],
  ['body', 1_502, 'POST', '', { body: unknown }],
  ['body', 702, 'POST', '', { body: twice }],
])(
  'the first 20 errors in a %s with %i errors are listed, and the other errors are counted',
  async (...row) => {
    const [place, count, method, query, options] = row;
    const answer = await app.call(method, `/pets?${query}`, options);
    expect(answer.status).toBe(400);
    expect(answer.error.details?.length).toBe(20);
    expect(answer.error.details?.[0]).toMatchObject({ in: place });
    expect(answer.error.message).toEndWith(`; and ${count - 20} more mistakes.`);
    expect(answer.text.length).toBeLessThan(8_000);
  },
);

test.each([
  ['body', 'POST', '', (name: string) => ({ body: JSON.stringify({ [name]: 1 }) })],
  ['query', 'GET', '?', () => ({})],
] as const)(
  'a long unknown name in a %s is truncated in the error response',
  async (place, method, mark, options) => {
    const name = `${'x'.repeat(63)}🐈${'x'.repeat(9_000)}`;
    const query = mark === '' ? '' : `?${encodeURIComponent(name)}`;
    const answer = await app.call(method, `/pets${query}`, options(name));
    expect(answer.error.details).toContainEqual(
      expect.objectContaining({ in: place, name: `${'x'.repeat(63)}…` }),
    );
    expect(answer.text.length).toBeLessThan(1_000);
  },
);

test('at most 20 of 21 validation errors are listed', async () => {
  const exactly = async (count: number) => (await app.call('GET', `/pets?${names(count).join('&')}`)).error;
  expect((await exactly(20)).message).not.toContain('more mistake');
  expect((await exactly(21)).message).toEndWith('; and 1 more mistake.');
});

test('a body that is not JSON is rejected with an error that does not quote it', async () => {
  const answer = await app.call('POST', '/pets', { body: `secret${'x'.repeat(16_000)}` });
  expect(answer.status).toBe(400);
  expect(answer.text).not.toContain('secret');
  expect(answer.text.length).toBeLessThan(1_000);
});
