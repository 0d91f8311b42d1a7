import { expect, test } from 'bun:test';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import { parseJson } from '../../src/contract/json.ts';
import { NewPet } from '../../src/contract/pets.ts';
import { validate } from '../../src/contract/validation.ts';

function mistakesIn(body: string): string[] {
  const result = validate(NewPet, parseJson(body), 'body');
  return 'mistakes' in result ? result.mistakes.map(({ name, message }) => `${name}: ${message}`) : [];
}

test.each([
  ['5', [': must be a JSON object, not a number']],
  ['[]', [': must be a JSON object, not an array']],
  [
    '{"name":5,"categoryId":"1"}',
    ['name: must be a string, not a number', 'categoryId: must be an integer, not a string'],
  ],
  ['{"name":"Ozzy","categoryId":null}', ['categoryId: must be an integer, not null']],
])('%s is refused in the words of JSON', (body, mistakes) => {
  expect(mistakesIn(body)).toEqual(mistakes);
});

test('all mistakes of an animal are named at once', () => {
  const mistakes = mistakesIn('{"name":"","status":"lost","colour":"red"}');
  expect(mistakes.map((mistake) => mistake.split(':')[0]).sort()).toEqual([
    'categoryId',
    'colour',
    'name',
    'status',
  ]);
});

test('a number of any length is read in a time that grows with it, not with its square', () => {
  // A hundred times what a body can carry: linear takes a tenth of a second, quadratic took half an hour.
  const zeros = '0'.repeat(100 * maxBodyBytes);
  expect(mistakesIn(`{"name":"Ozzy","categoryId":1${zeros}1}`)).toHaveLength(1);
});
