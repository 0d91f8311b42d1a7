/**
 * Edge cases of the fast parser for flat objects: bodies that this parser accepts, with a few characters changed.
 */
import type { Chance } from './generate/chance.ts';

/** Bodies that the fast parser accepts. */
const flat = [
  '{"name":"Ozzy","categoryId":1,"status":"sold"}',
  ' {\t"a" :\n-12 ,\r"b": true,"": null }\n',
  '{"a":0,"b":"a","ab":999999999999999,"1":-0}',
];

const bodies = [
  ...flat,
  '{"é":"\u2028ü😀","__prot":"o__","a":"{\\"b\\":1}"}',
  '{"a":1.0,"b":[1e2],"c":{"d":9007199254740993},"e":1e400}',
];

/** All ASCII characters, plus characters that other standards treat as whitespace, line ends or letters. */
const characters = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...'\u0080\u0085\u00a0\u1680\u180e\u2000\u200b\u2028\u2029\u202f\u205f\u3000\ufeff\ufffe\uffff',
  ...['é', '١', '１', '“', '\ud800', '\udc00', '😀'],
];

/** Every text that differs from one of the flat bodies by exactly one removed, added or replaced character. */
export function* texts(): Generator<string> {
  for (const body of flat) {
    yield body;
    for (let at = 0; at <= body.length; at++) {
      const [before, behind, rest] = [body.slice(0, at), body.slice(at), body.slice(at + 1)];
      yield before + rest;
      for (const character of characters) {
        yield before + character + behind;
        yield before + character + rest;
      }
    }
  }
}

const gaps = ['', '', '', ' ', '\t', '\n', '\r', '\r\n  '];
const names = [
  'a',
  'b',
  'name',
  '',
  '0',
  '10',
  'a:1,{',
  '\\u0061',
  '\\u006eame',
  '__proto__',
  '__prot\\u006f__',
];
const strings = [
  '',
  'a',
  'Ozzy',
  ':',
  ',"',
  '\\"',
  '\\\\',
  '\\n',
  '\u00a0',
  '\u2028',
  '\ud800',
  '😀',
  '__proto__',
  '}',
];
const numbers = [
  ...[
    '0',
    '-0',
    '7',
    '-1',
    '01',
    '+1',
    '.5',
    '1.',
    '1.0',
    '1.5',
    '-',
    '1e2',
    '1E+2',
    '10e-1',
    '1e-1',
    '0e999',
    '1e400',
    '1e19',
  ],
  ...[
    '999999999999999',
    '1000000000000000',
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
  ],
  ...[
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '-9223372036854775809',
    '9007199254740991.2',
  ],
  ...[
    '0.99999999999999999999',
    '92233720368547758.07e2',
    '1'.repeat(400),
    '0x1',
    'NaN',
    'Infinity',
    '1_000',
    '1n',
  ],
];
const others = [
  'true',
  'false',
  'null',
  'nil',
  'True',
  'undefined',
  '',
  '[]',
  '[1,"a"]',
  '{}',
  '{"a":1}',
  '{"a":1,"a":2}',
  '[{"a":1},{"a":[{"a":1,"\\u0061":2}]}]',
];

function anyValue(chance: Chance): string {
  const kind = chance.int(0, 9);
  if (kind < 4) return `"${chance.pick(strings)}${chance.pick(strings)}"`;
  if (kind < 8) return chance.pick(numbers);
  return chance.pick(others);
}

function anyObject(chance: Chance): string {
  const members = Array.from({ length: chance.int(0, 5) }, () => {
    const [a, b, c, d] = Array.from({ length: 4 }, () => chance.pick(gaps));
    return `${a}"${chance.pick(names)}"${b}:${c}${anyValue(chance)}${d}`;
  });
  return `${chance.pick(gaps)}{${members.join(',')}}${chance.pick(gaps)}`;
}

/** A random object or a flat body, with up to three random changes. Some changes duplicate part of the text. */
export function anyText(chance: Chance): string {
  let text = chance.often(0.3) ? chance.pick(bodies) : anyObject(chance);
  for (let changes = chance.int(0, 3); changes > 0; changes--) {
    const at = chance.int(0, text.length);
    const end = at + chance.int(0, chance.often(0.2) ? text.length - at : 1);
    const piece = chance.often(0.2)
      ? text.slice(chance.int(0, at), end)
      : chance.pick(['', chance.pick(characters)]);
    text = text.slice(0, at) + piece + text.slice(end);
  }
  return text;
}
