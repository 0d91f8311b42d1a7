/** Queries with one parameter wrong. */
import { writeCursor } from '../../../src/domain/cursor.ts';
import type { Chance } from './chance.ts';
import { type Mutation, refused } from './mutation.ts';
import { listPets } from './requests.ts';

const limits = [
  '0',
  '101',
  '-1',
  '1.5',
  '1.0',
  '',
  '%20',
  '1%20',
  '%201',
  '01',
  '%2B1',
  '1e1',
  '0x1',
  '1000',
  '99999999999999999999',
  '%D9%A3',
  'ten',
  'NaN',
  'null',
  '1,2',
  '1%00',
  '%EF%BC%91',
];
const filters = [
  '',
  'Available',
  'SOLD',
  'gone',
  'sold%20',
  'available,sold',
  'null',
  's%00old',
  '%73%6F%6C%64%21',
  '1',
];
const unknownNames = [
  'stauts',
  'Limit',
  'LIMIT',
  'limit%20',
  'status%5B%5D',
  'page',
  'offset',
  '__proto__',
  'constructor',
  '%00',
  'a',
  'api_key',
];

function query(make: (chance: Chance) => string, code: string, faulty?: string): Mutation {
  return (chance, known) => ({
    ...listPets(chance, known),
    target: `/pets?${make(chance)}`,
    ...refused(400, code, faulty),
  });
}

export const queryMutations: Readonly<Record<string, Mutation>> = {
  'limit wrong': query((chance) => `limit=${chance.pick(limits)}`, 'invalid_parameter', 'query:limit'),
  'status wrong': query(
    (chance) => `limit=5&status=${chance.pick(filters)}`,
    'invalid_parameter',
    'query:status',
  ),
  'parameter twice': query(
    (chance) =>
      chance.pick(['limit=5&limit=5', 'l%69mit=5&limit=6', 'limit=5&status=sold&limit=7', 'limit=5&limit=']),
    'invalid_parameter',
    'query:limit',
  ),
  'parameter unknown': query(
    (chance) => `${chance.pick(unknownNames)}=${chance.pick(['', '1', 'sold'])}`,
    'invalid_parameter',
  ),
  'cursor malformed': query((chance) => `cursor=${brokenCursor(chance)}`, 'invalid_cursor'),
  'cursor of other filters': query(
    (chance) =>
      `status=${chance.pick(['sold', 'pending'])}&cursor=${writeCursor({ after: BigInt(chance.int(1, 99)), filters: 'available' })}`,
    'invalid_cursor',
  ),
};

function brokenCursor(chance: Chance): string {
  const good = writeCursor({ after: BigInt(chance.int(1, 1_000_000)), filters: '' });
  const own = [
    '',
    '%00',
    'null',
    '=',
    'LjAw',
    'Li0w',
    'LjA',
    'Lg',
    'LjAx',
    'LjkyMjMzNzIwMzY4NTQ3NzU4MDg',
    'x'.repeat(65),
  ];
  return chance.pick([
    ...own,
    `${good}=`,
    `${good}A`,
    `%20${good}`,
    good.slice(0, 1),
    `${good}.`,
    good.toLowerCase() === good ? '' : good.toLowerCase(),
  ]);
}
