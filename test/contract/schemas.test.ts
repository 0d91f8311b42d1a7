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
