/** Bodies that are no JSON the service reads. */
import type { Chance } from './chance.ts';
import { body, type Mutation, mutatedPet } from './mutation.ts';

const validBody = mutatedPet((members) => members);

export const textMutations: Readonly<Record<string, Mutation>> = {
  'body empty': body(() => new Uint8Array(), 400, 'invalid_body'),
  'body cut': body((chance) => cut(validBody(chance), chance), 400, 'invalid_json'),
  'body with more behind': body(
    (chance) =>
      Buffer.concat([
        validBody(chance),
        Buffer.from(chance.pick(['}', '{}', ',', 'x', '\0', '1', '"', '//'])),
      ]),
    400,
    'invalid_json',
  ),
  'body with BOM': body(
    (chance) => insertedAt(validBody(chance), 0, [0xef, 0xbb, 0xbf]),
    400,
    'invalid_json',
  ),
  'body not UTF-8': body((chance) => notUtf8(validBody(chance), chance), 400, 'invalid_json'),
  'body not JSON': body(
    (chance) =>
      Buffer.from(
        chance.pick([
          "{'name':'Ozzy','categoryId':1}",
          '{name:"Ozzy"}',
          '{"name":"Ozzy","categoryId":1,}',
          'NaN',
          '{"name":"Ozzy","categoryId":01}',
          '{"name":"Ozzy","categoryId":+1}',
          '{"name":"Ozzy","categoryId":.5}',
          '{"name":"Ozzy","categoryId":1.}',
          '{"name":"Ozzy","categoryId":0x1}',
          '{"name":"Ozzy","categoryId":Infinity}',
          '{"name":"O\tzzy","categoryId":1}',
          '/**/{}',
          'undefined',
          'name=Ozzy',
          '{"name":"\\x41"}',
        ]),
      ),
    400,
    'invalid_json',
  ),
  'body too deep': body((chance) => nested(chance.int(33, 3_000)), 400, 'invalid_json'),
  'body too large': body(
    (chance) => Buffer.concat([validBody(chance), Buffer.alloc(16_384 + chance.int(0, 4_000), ' ')]),
    413,
    'body_too_large',
  ),
};

function cut(bytes: Uint8Array, chance: Chance): Uint8Array {
  const text = Buffer.from(bytes.subarray(0, bytes.lastIndexOf(0x7d)));
  return text.subarray(0, chance.int(text.indexOf('{') + 1, text.length));
}

function notUtf8(bytes: Uint8Array, chance: Chance): Uint8Array {
  const broken = chance.pick([
    [0xff],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xe2, 0x82],
  ]);
  // Behind an ASCII byte, so that no character around it is completed.
  const places = [...bytes.keys()].filter((at) => (bytes[at] ?? 0) < 0x80 && (bytes[at + 1] ?? 0) < 0x80);
  return insertedAt(bytes, chance.pick(places) + 1, broken);
}

function nested(depth: number): Uint8Array {
  return Buffer.from(`{"name":${'['.repeat(depth)}${']'.repeat(depth)},"categoryId":1}`);
}

function insertedAt(bytes: Uint8Array, at: number, insert: readonly number[]): Uint8Array {
  return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(insert), bytes.subarray(at)]);
}
