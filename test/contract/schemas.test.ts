import { expect, test } from 'bun:test';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import { parseJson } from '../../src/contract/json.ts';
import { NewPet } from '../../src/contract/pets.ts';
import { validate } from '../../src/contract/validation.ts';

function mistakesIn(body: string): string[] {
  const result = validate(NewPet, parseJson(body), 'body');
  return 'mistakes' in result ? result.mistakes.map(({ name, message }) => `${name}: ${message}`) : [];
}

test('a number is parsed in linear time', () => {
  // At 100 times the maximum body size, a linear check takes 0.1 s, and a quadratic check would take half an hour.
  const zeros = '0'.repeat(100 * maxBodyBytes);
  expect(mistakesIn(`{"name":"Ozzy","categoryId":1${zeros}1}`)).toHaveLength(1);
});

test('a number of up to 64 characters is exact, and a longer one is rejected', () => {
  const zeros = (count: number) => '0'.repeat(count);
  const longest = [`1${zeros(59)}e-59`, `0.${zeros(58)}1e59`, `1.${zeros(62)}`, `1e${zeros(62)}`];
  expect(longest.map(({ length }) => length)).toEqual([64, 64, 64, 64]);
  expect(parseJson(`[${longest.join()}]`)).toEqual([1n, 1n, 1n, 1n]);
  for (const longer of [`1${zeros(60)}e-60`, `0.${zeros(59)}1e60`, `1.${zeros(63)}`, `1e${zeros(63)}`]) {
    expect(mistakesIn(`{"name":"Ozzy","categoryId":${longer}}`)).toEqual([
      'categoryId: must be an integer from -9223372036854775808 to 9223372036854775807, not a number of more than 64 characters',
    ]);
  }
});
