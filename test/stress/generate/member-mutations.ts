/** New animals with one member wrong. */
import type { Chance } from './chance.ts';
import { anyInt64, spelled } from './integers.ts';
import { body, type Members, type Mutation, mutatedPet } from './mutation.ts';
import { anyName } from './names.ts';

const replaced = (name: string, values: readonly string[] | ((chance: Chance) => string)) =>
  mutatedPet((members, chance) => [
    ...members.filter(([other]) => other !== name),
    [name, typeof values === 'function' ? values(chance) : chance.pick(values)],
  ]);

const dropped = (name: string) => mutatedPet((members) => members.filter(([other]) => other !== name));

const invalidBody = (make: (chance: Chance) => Uint8Array, member: string) =>
  body(make, 400, 'invalid_body', `body:${member}`);

const notStrings = ['1', '-2.5', 'true', 'false', 'null', '[]', '["Ozzy"]', '{}', '{"name":"Ozzy"}'];
const notIntegers = [
  '"1"',
  '""',
  'true',
  'null',
  '[]',
  '[1]',
  '{}',
  '1.5',
  '-0.1',
  '1e-1',
  '1e400',
  '-1e400',
  '0.5e0',
];
const beyondInt64 = (chance: Chance) => {
  const beyond = BigInt(chance.pick(['9223372036854775808', '18446744073709551616', '99999999999999999999']));
  const far = beyond + BigInt(chance.int(0, 1_000));
  return spelled(chance.often(0.5) ? far : -far - 1n, chance);
};
const controls = [...Array(32).keys(), 0x7f].map((code) => String.fromCharCode(code));
const withInserted = (text: string, insert: string, chance: Chance) => {
  const characters = [...text];
  characters.splice(chance.int(0, characters.length), 0, insert);
  return characters.join('');
};
const loneHalf = (chance: Chance) => String.fromCharCode(chance.int(0xd800, 0xdfff));
const shortName = (chance: Chance) => [...anyName(chance)].slice(0, 200).join('');
const otherStatuses = [
  '"Available"',
  '"SOLD"',
  '"pending "',
  '""',
  '"gone"',
  'null',
  '1',
  'true',
  '[]',
  '{}',
  '["sold"]',
];
const strangers = [
  'id',
  'Name',
  'category_id',
  'categoryid',
  'colour',
  '',
  ' name',
  'status ',
  'constructor',
  'toString',
];

export const memberMutations: Readonly<Record<string, Mutation>> = {
  'name missing': invalidBody(dropped('name'), 'name'),
  'categoryId missing': invalidBody(dropped('categoryId'), 'categoryId'),
  'name no string': invalidBody(replaced('name', notStrings), 'name'),
  'name empty': invalidBody(replaced('name', ['""']), 'name'),
  'name white': invalidBody(
    replaced('name', ['" "', '"\\u00a0\\u2003"', '"\\u3000"', '"\\u2028 "', '"   "']),
    'name',
  ),
  'name too long': invalidBody(
    replaced('name', (chance) =>
      JSON.stringify(chance.pick(['x', 'é', '犬', '\u{1f436}']).repeat(chance.int(256, 900))),
    ),
    'name',
  ),
  'name with control': invalidBody(
    replaced('name', (chance) =>
      JSON.stringify(withInserted(shortName(chance), chance.pick(controls), chance)).replace(
        '\x7f',
        chance.pick(['\x7f', '\\u007f']),
      ),
    ),
    'name',
  ),
  'name with lone surrogate': invalidBody(
    // A white space keeps the half from pairing with a neighbour.
    replaced('name', (chance) =>
      JSON.stringify(withInserted(shortName(chance), `x${loneHalf(chance)}x`, chance)),
    ),
    'name',
  ),
  'categoryId no integer': invalidBody(replaced('categoryId', notIntegers), 'categoryId'),
  'categoryId beyond int64': invalidBody(replaced('categoryId', beyondInt64), 'categoryId'),
  'categoryId with fraction': invalidBody(
    replaced(
      'categoryId',
      (chance) => `${anyInt64(chance)}.${'0'.repeat(chance.int(0, 20))}${chance.int(1, 9)}`,
    ),
    'categoryId',
  ),
  'status unknown': invalidBody(replaced('status', otherStatuses), 'status'),
  'member unknown': body(
    mutatedPet((members: Members, chance) => [
      ...members,
      [chance.pick(strangers), chance.pick(['1', 'null', '"x"', '{}'])],
    ]),
    400,
    'invalid_body',
  ),
  'member twice': body(
    mutatedPet((members: Members, chance) => [...members, chance.pick(members)]),
    400,
    'invalid_body',
  ),
  'member __proto__': invalidBody(
    mutatedPet((members: Members, chance) => [
      ...members,
      ['__proto__', chance.pick(['{}', 'null', '{"status":"sold"}'])],
    ]),
    '__proto__',
  ),
  'no object': body(
    (chance) =>
      Buffer.from(
        chance.pick(['[]', '1', '"name"', 'true', 'null', '[{"name":"a","categoryId":1}]', '1e400', '-0']),
      ),
    400,
    'invalid_body',
  ),
};
