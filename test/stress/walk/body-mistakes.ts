/** Request bodies with exactly one error. */
import type * as z from 'zod';
import type { Operation } from '../../../src/contract/operation.ts';
import type { Chance } from '../generate/chance.ts';
import { objectText } from '../generate/json-text.ts';
import { words } from '../words.ts';
import type { Mistake } from './mistakes.ts';
import { bodyOf, type Members, type Request } from './request.ts';
import { blaming, type Outcome } from './world.ts';
import { wrongMember } from './wrong-values.ts';

const strangers = [
  ...words`id Name category_id categoryid colour constructor toString`,
  '',
  ' name',
  'status ',
];
const noObjects = ['[]', '1', '"name"', 'true', 'null', '[{"name":"a","categoryId":1}]', '1e400', '-0'];
const noJson = [
  "{'name':'Ozzy'}",
  '{name:"Ozzy"}',
  '{"name":"Ozzy",}',
  ...['01', '+1', '.5', '1.', '0x1', 'Infinity', 'NaN'].map((number) => `{"categoryId":${number}}`),
  ...['NaN', '{', '{]', '{"name":"O\tzzy"}', '/**/{}', 'undefined', 'name=Ozzy', '{"name":"\\x41"}'],
];
const noTypes = [
  ...[
    'text/plain',
    'application/jsonp',
    'application/json+x',
    'application/xml',
    'application/json; charset=latin1',
  ],
  ...[
    'application/json;charset=utf-16',
    'json',
    'application/json, text/plain',
    '*/*',
    'application/json-patch+json',
  ],
  ...['application/x-www-form-urlencoded', 'application/json charset=utf-8', null],
];
const notUtf8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];

export function bodyMistakes(operation: Operation): Mistake[] {
  const { body } = operation;
  if (body === undefined) return [];
  const { shape } = body.schema;
  const required = (body.schema.safeParse({}).error?.issues ?? []).map(({ path }) => String(path[0]));
  return [
    ...Object.entries(shape).map(([name, schema]) => memberWrong(name, schema as z.ZodType)),
    ...required.map((name) =>
      ofMembers(
        `${name} missing`,
        () => name,
        (members) => members.filter(([other]) => other !== name),
      ),
    ),
    ofMembers(
      'member unknown',
      (chance) => chance.pick(strangers),
      (members, name, chance) => [...members, [name, chance.pick(['1', 'null', '"x"', '{}'])]],
    ),
    ofMembers(
      'member __proto__',
      () => '__proto__',
      (members, name, chance) => [...members, [name, chance.pick(['{}', 'null', '{"status":"sold"}'])]],
    ),
    ...(required.length === 0 ? [] : [twice(required)]),
    ...textMistakes,
    ...(body.optional
      ? []
      : [ofBytes('body empty', () => Buffer.alloc(0), { status: 400, error: { code: 'invalid_body' } })]),
    wrongType(operation),
  ];
}

/** An error in the body's members. The error response must name the invalid member. */
function ofMembers(
  what: string,
  nameOf: (chance: Chance) => string,
  change: (members: Members, name: string, chance: Chance) => Members,
): Mistake {
  return {
    what,
    make: (request, chance) => {
      const name = nameOf(chance);
      const { body } = bodyOf(chance, change(request.members ?? [], name, chance));
      return { ...request, body, refused: blaming('invalid_body', `body:${name}`) };
    },
  };
}

function memberWrong(name: string, schema: z.ZodType): Mistake {
  const wrong = wrongMember(schema);
  return ofMembers(
    `${name} wrong`,
    () => name,
    (members, _, chance) => [...members.filter(([other]) => other !== name), [name, wrong(chance)]],
  );
}

const twice = (names: readonly string[]) =>
  ofMembers(
    'member twice',
    (chance) => chance.pick(names),
    (members, name) => [...members, ...members.filter(([other]) => other === name)],
  );

function ofBytes(what: string, change: (bytes: Buffer, chance: Chance) => Buffer, refused: Outcome): Mistake {
  return {
    what,
    make: (request, chance) => ({ ...request, body: change(textOf(request, chance), chance), refused }),
  };
}

const textOf = ({ members = [] }: Request, chance: Chance) => Buffer.from(objectText(chance, members));

const invalidJson: Outcome = { status: 400, error: { code: 'invalid_json' } };
const behind = ['}', '{}', ',', 'x', '\0', '1', '"', '//'];

const textMistakes: readonly Mistake[] = [
  ofBytes('body cut', cut, invalidJson),
  ofBytes(
    'body followed by more data',
    (bytes, chance) => Buffer.concat([bytes, Buffer.from(chance.pick(behind))]),
    invalidJson,
  ),
  ofBytes('body with BOM', (bytes) => insertedAt(bytes, 0, [0xef, 0xbb, 0xbf]), invalidJson),
  ofBytes('body not UTF-8', withoutUtf8, invalidJson),
  ofBytes('body not JSON', (_, chance) => Buffer.from(chance.pick(noJson)), invalidJson),
  ofBytes(
    'body not an object',
    (_, chance) => Buffer.from(chance.pick(noObjects)),
    blaming('invalid_body', 'body:'),
  ),
  ofBytes('body too deep', (_, chance) => nested(chance.int(33, 3_000)), invalidJson),
  ofBytes(
    'body too large',
    (bytes, chance) => Buffer.concat([bytes, Buffer.alloc(16_384 + chance.int(0, 4_000), ' ')]),
    { status: 413, error: { code: 'body_too_large' } },
  ),
];

function cut(bytes: Buffer, chance: Chance): Buffer {
  return bytes.subarray(0, chance.int(bytes.indexOf('{') + 1, bytes.lastIndexOf('}')));
}

function withoutUtf8(bytes: Buffer, chance: Chance): Buffer {
  // Inserted between two ASCII bytes, so that these bytes do not complete a multibyte character.
  const places = [...bytes.keys()].filter((at) => (bytes[at] ?? 0) < 0x80 && (bytes[at + 1] ?? 0) < 0x80);
  return insertedAt(bytes, chance.pick(places) + 1, chance.pick(notUtf8));
}

const nested = (depth: number) => Buffer.from(`{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`);

function insertedAt(bytes: Buffer, at: number, insert: readonly number[]): Buffer {
  return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(insert), bytes.subarray(at)]);
}

function wrongType({ method }: Operation): Mistake {
  const headers =
    method === 'PATCH' ? { 'accept-patch': 'application/merge-patch+json, application/json' } : {};
  const error = { code: 'unsupported_media_type', blames: ['header:Content-Type'], headers };
  return {
    what: 'media type wrong',
    make: (request, chance) => ({
      ...request,
      body: request.body ?? '{}',
      type: chance.pick(noTypes),
      refused: { status: 415, error },
    }),
  };
}
