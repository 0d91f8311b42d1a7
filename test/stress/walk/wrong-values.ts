/** Invalid values for the schema of a member or parameter. */
import type * as z from 'zod';
import type { Chance } from '../generate/chance.ts';
import { anyInt64, spelled } from '../generate/integers.ts';
import { anyName } from '../generate/json-text.ts';
import { words } from '../words.ts';
import { isArray, isBoolean, isInteger, wordsOf } from './schemas.ts';

export type Wrong = (chance: Chance) => string;

const anyOf =
  (...values: readonly (string | Wrong)[]): Wrong =>
  (chance) => {
    const value = chance.pick(values);
    return typeof value === 'string' ? value : value(chance);
  };

const controls = [...Array(32).keys(), 0x7f].map((code) => String.fromCharCode(code));

/** A name as JSON, with this text inserted at a random position. */
function withInserted(insert: Wrong): Wrong {
  return (chance) => {
    const characters = [...anyName(chance)].slice(0, 200);
    characters.splice(chance.int(0, characters.length), 0, insert(chance));
    return JSON.stringify(characters.join('')).replace('\x7f', chance.pick(['\x7f', '\\u007f']));
  };
}

const noName = anyOf(
  ...words`1 -2.5 true false null [] ["Ozzy"] {} {"name":"Ozzy"} ""`,
  ...['" "', '"\\u00a0\\u2003"', '"\\u3000"', '"\\u2028 "', '"   "', '"\\u0000"', '"\\ud800"'],
  (chance) => JSON.stringify(chance.pick(['x', 'é', '犬', '\u{1f436}']).repeat(chance.int(256, 900))),
  withInserted((chance) => chance.pick(controls)),
  // The letters keep the lone surrogate from pairing with a neighbor.
  withInserted((chance) => `x${String.fromCharCode(chance.int(0xd800, 0xdfff))}x`),
);

const noInteger = anyOf(
  ...words`"1" "" true null [] [1] {} 1.5 -0.1 1e-1 1e400 -1e400 0.5e0 9223372036854775808`,
  (chance) => `${anyInt64(chance)}.${'0'.repeat(chance.int(0, 20))}${chance.int(1, 9)}`,
  (chance) => {
    const beyond = BigInt(chance.pick(words`9223372036854775808 18446744073709551616 99999999999999999999`));
    const far = beyond + BigInt(chance.int(0, 1_000));
    return spelled(chance.often(0.5) ? far : -far - 1n, chance);
  },
);

const noWord = anyOf(...words`"Available" "SOLD" "gone" "" null 1 true [] {} ["sold"]`, '"pending "');

const noBoolean = anyOf(...words`"true" "" 0 1 null [] [true] {}`);
const noArray = anyOf(...words`"pet.*" "" 1 true null {} {"0":"pet.*"} []`);

/** An invalid value for a member, as JSON. */
export function wrongMember(schema: z.ZodType): Wrong {
  if (schema.safeParse(null).success) return (chance) => butNull(wrongOf(schema), chance);
  return wrongOf(schema);
}

function wrongOf(schema: z.ZodType): Wrong {
  if (wordsOf(schema) !== undefined) return noWord;
  if (isBoolean(schema)) return noBoolean;
  if (isArray(schema)) return noArray;
  return isInteger(schema) ? noInteger : noName;
}

function butNull(wrong: Wrong, chance: Chance): string {
  const value = wrong(chance);
  return value === 'null' ? butNull(wrong, chance) : value;
}

const noInt64 = anyOf('', ...words`x 1.5 01 %2B1 9223372036854775808 1%20 0x1 1,2`);
const manyIds = Array.from({ length: 101 }, (_, index) => index + 1).join();

const noWordInQuery = anyOf(
  '',
  ...words`Available Placed SOLD gone sold%20 available,sold null s%00old %73%6F%6C%64%21 1`,
);
const noTextInQuery = anyOf('', ...words`%20 %00 a%0Ab`, 'x'.repeat(256));

/** Invalid values for parameters with special rules, already percent-encoded. */
const wrongParameters: Readonly<Record<string, Wrong>> = {
  limit: anyOf(
    '',
    ...words`0 101 -1 1.5 1.0 %20 1%20 %201 01 %2B1 1e1 0x1 1000 99999999999999999999 %D9%A3 ten NaN null`,
    ...words`1,2 1%00 %EF%BC%91`,
  ),
  id: anyOf('', ...words`, 1, ,1 1,,2 x 1;2 1%20,2 1,9223372036854775808`, manyIds),
  cursor: anyOf(
    '',
    ...words`%00 none null = LjAw Li0w LjA Lg LjkyMjMzNzIwMzY4NTQ3NzU4MDg`,
    'x'.repeat(65),
    brokenCursor,
  ),
};

/** An invalid value for a query parameter, already percent-encoded. */
export function wrongParameter(name: string, schema: z.ZodType): Wrong {
  const own = wrongParameters[name];
  if (own !== undefined) return own;
  if (wordsOf(schema) !== undefined) return noWordInQuery;
  return isInteger(schema) ? noInt64 : noTextInQuery;
}

function brokenCursor(chance: Chance): string {
  const good = Buffer.from(`.${chance.int(1, 1_000_000)}`).toString('base64url');
  return chance.pick([`${good}=`, `${good}A`, `%20${good}`, good.slice(0, 1), `${good}.`]);
}

/** Invalid ids in paths. */
export const wrongIds = words`9223372036854775808 -9223372036854775809 01 +1 1.0 1e0 x %20 %00 -0 1%20 %EF%BC%91 ..%2F1 0x1 1'-- 1;1`;

export const wrongNames = words`stauts Limit LIMIT limit%20 status%5B%5D page offset __proto__ constructor %00 a api_key expand`;

/** Invalid values of headers, keyed by header name. */
export const wrongHeaders: Readonly<Record<string, readonly string[]>> = {
  'If-Match': ['abc', '"a', '"a" "b"', '"a",b', "'a'", 'W/a', '*,"a"', '"a b"'],
  'If-None-Match': ['"a"', 'a', '""', '*, *'],
  'Idempotency-Key': ['""', '"', '"a', '"a"b', 'a b', 'é', 'x'.repeat(256), `"${'x'.repeat(256)}"`, '"a\\b"'],
};
