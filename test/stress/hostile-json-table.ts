/** Bodies designed to break JSON parsers. The expected responses are derived from JSON.parse. */
import { maxJsonDepth } from '../../src/contract/json.ts';
import { texts, words } from './words.ts';

export interface HostileBody {
  readonly bytes: Uint8Array;
  /** Error code, or undefined if the body is accepted. */
  readonly code: 'invalid_json' | 'invalid_body' | undefined;
}

const largest = 16_384;
const member = (text: string) => `{"name":"a","categoryId":1,${text}}`;
const withId = (text: string) => `{"name":"a","categoryId":${text}}`;
const named = (text: string) => `{"name":${text},"categoryId":1}`;

function duplicates(): string[] {
  const names = [
    ...words`name categoryId status \u006eame n\u0061me category\u0049d \u0073tatus x \ud800 \u0000`,
    '',
  ];
  const disguised = [
    ['name', '\\u006eame'],
    ['status', 'st\\u0061tus'],
    ['a', '\\u0061'],
    ['\u{1f436}', '\\ud83d\\udc36'],
    ['/', '\\/'],
  ];
  return [
    ...names.flatMap((text) => [
      member(`"${text}":1,"${text}":1`),
      `{"${text}":"sold","name":"a","categoryId":1,"${text}":"sold"}`,
      named(`{"${text}":1,"${text}":1}`),
    ]),
    ...disguised.map(([one, other]) => member(`"${one}":1,"${other}":1`)),
    `{${'"name":1,'.repeat(1_700)}"name":1}`,
  ];
}

function prototypes(): string[] {
  const names = words`
      __proto__ \u005f_proto__ __\u0070roto__ constructor prototype __defineGetter__ toString valueOf
      hasOwnProperty then toJSON length 0
    `;
  const values = ['{}', 'null', '{"status":"sold"}', '[]', '{"__proto__":{}}', '1'];
  return names.flatMap((text) => [
    ...values.map((inner) => member(`"${text}":${inner}`)),
    `{"${text}":{"name":"a"},"categoryId":1}`,
    named(`{"${text}":"a"}`),
  ]);
}

function depths(): string[] {
  const opened = ['[', '{"a":', '[{"a":', '[[],', '{"name":'];
  return [
    ...opened.flatMap((text) =>
      [33, 1_000, Math.floor(largest / text.length)].map((count) => text.repeat(count)),
    ),
    ...[33, 100, 1_000, 8_000].map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
    ...[33, 100, 1_000, 2_700].map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    ...[2, 16, 31].map((depth) => named('['.repeat(depth) + ']'.repeat(depth))),
  ];
}

const numbers = [
  ...words`
    1e400 -1e400 1e-400 1e99999999999 -1e-99999999999 9223372036854775808 -9223372036854775809
    18446744073709551616 9007199254740993.5 1.0000000000000000000000001 9223372036854775807.0000001
    4.9e-324 2.2250738585072011e-308 1.7976931348623157e309 01 -01 00 +1 .5 1. - --1 1e 1e+ 1e1.5 0x1
    0b1 0o1 1_000 1n NaN Infinity -Infinity 1, 1f 1d 1L 1e+-1 ..1 1..1
  `,
  ...texts('１|٣|1 1|- 1|1e 1'),
  ...texts(`1e${'9'.repeat(16_000)}|${'9'.repeat(16_000)}|0.${'0'.repeat(15_000)}1`),
  ...texts(`1.${'01'.repeat(8_000)}|1${'0'.repeat(8_000)}1`),
  // Integers that have more than 64 characters.
  ...texts(`1${'0'.repeat(8_000)}e-8000|0.${'0'.repeat(8_000)}1e8001`),
  ...texts(`1.${'0'.repeat(16_000)}|1e${'0'.repeat(16_000)}`),
];

const strings = [
  ...words`
    "\x41" "\u12" "\u" "\uD8" "\u{41}" "\U0041" "\a" "\0" "a "\" 'a' "a""b" "\ud800" "\udfff"
    "a\ud83d" "\ud83d\ud83d\udc36" "\udc36\ud83d" "\u0000" "\u001f" "\u007f" "\b" "\f" "\n" "\r" "\t"
    "" "\u2028"
  `,
  ...texts('“a”|"\\\n"|`a`|"a" "b"|"\t"|"\n"|"\r"|"\u0000"|"\u001f"|"\u007f"|" "'),
  ...texts(`"${'a'.repeat(16_000)}"|"${'\\u0061'.repeat(2_600)}"|"${'\\\\'.repeat(8_000)}"`),
  `"${' '.repeat(16_000)}"`,
];

const shapes = [
  ...words`
    { } [ ] {] [} {}{} {}, , : {"name"} {"name":} {:1} {,} {"name":"a",,"categoryId":1} # undefined nul
    {"name":"a","categoryId":1,} [1,] {name:"a"} {"name"="a"} {"name":"a";"categoryId":1} {}// TRUE None
    {"name":undefined} {1:1} {null:1} <pet/> {"name":"a" {} [] [[]] [{"name":"a","categoryId":1}] null
    true false 0 -1 1.5 1e999 "a" "" [null] {"name":"a"} {"categoryId":1} {"name":null,"categoryId":null}
    {"name":"a","categoryId":"1"} {"name":["a"],"categoryId":[1]} {"name":true,"categoryId":true}
    {"name":{"toString":"a"},"categoryId":{"valueOf":1}} [1,2 - "
  `,
  ...texts(
    '// a\n{}|/* a */{}|{"a":1 "b":2}|\u0000|{}\u0000|\u00a0{}|\u2028{}|\f{}|\v{}|)]}\'\n{}|name: a| ',
  ),
  ...texts(`${'\n'.repeat(16_000)}|${'{}'.repeat(8_000)}|${'"'.repeat(16_001)}|${','.repeat(16_000)}`),
  ...texts(`${'{"a":{}'.repeat(100)}|[${'1,'.repeat(8_000)}1]|[${'{},'.repeat(5_400)}{}]`),
  `{${Array.from({ length: 1_500 }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`,
  ...words`"status":null "status":["sold"] "status":"" "status":"sold\u0000" "id":1 "Status":"sold" "":1`.map(
    member,
  ),
  member('" status":"sold"'),
];

/** Invalid UTF-8 in a name and at the end of the body, and bodies in other encodings. */
function encodings(): Uint8Array[] {
  const good = Buffer.from(named('"a?b"'));
  const at = good.indexOf('?');
  const broken = words`
    ff fe 80 bf c080 c1bf c2 e08080 e282 eda080 edbfbf f0808080 f09f90 f4908080 f5808080 f888808080 c328
    e228a1
  `.map((hex) => Buffer.from(hex, 'hex'));
  const bom = Buffer.from([0xef, 0xbb, 0xbf]);
  const other = named('"a"');
  return [
    ...broken.map((bytes) => Buffer.concat([good.subarray(0, at), bytes, good.subarray(at + 1)])),
    ...[...broken, bom].map((bytes) => Buffer.concat([good, bytes])),
    Buffer.concat([bom, good]),
    bom,
    Buffer.from(other, 'utf16le'),
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(other, 'utf16le')]),
    Buffer.from([...other].flatMap((text) => [0, 0, 0, text.charCodeAt(0)])),
    Bun.gzipSync(good),
  ];
}

const accepted = [
  ...texts(`-0|0e400|-0.0e-400|1${'0'.repeat(50)}e-50|0.${'0'.repeat(50)}1e51`).map(withId),
  ...texts(`1.${'0'.repeat(62)}|1e${'0'.repeat(62)}|9223372036854775807e0`).map(withId),
  ...words`9223372036854775807 -9223372036854775808 9007199254740993 92233720368547758070e-1`.map(withId),
  ...words`"\ud83d\udc36" "\u0061" "\/" "\\" "\"" "\uFFFE" "__proto__" "</script>"`.map(named),
  ...texts('"\u2028a"|"\ufeffa"|"\uffff"|"\ufffd"|"\u{10ffff}"|"\'; DROP TABLE pets; --"|"%s%n"').map(named),
  ...texts('"{}"|"a\u202eb"|"a"').map(named),
  ` \t\r\n${named('"a"')}\n`,
  named('"a"').padEnd(largest),
  member('"status":"s\\u006fld"'),
  ...texts('{"\\u006eame":"a","c\\u0061tegoryId":1}|{"categoryId":1,"name":"a"}'),
];

/** The expected error code for a body. Undefined if the body is a valid animal. */
function codeOf(bytes: Uint8Array): HostileBody['code'] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return depthOf(JSON.parse(text)) > maxJsonDepth ? 'invalid_json' : 'invalid_body';
  } catch {
    return 'invalid_json';
  }
}

/** Nesting depth of arrays and objects. */
function depthOf(value: unknown): number {
  let depth = 0;
  const isNested = (one: unknown): one is object => typeof one === 'object' && one !== null;
  for (let level = [value].filter(isNested); level.length > 0; depth++)
    level = level.flatMap((one) => Object.values(one)).filter(isNested);
  return depth;
}

export const hostileBodies: readonly HostileBody[] = [
  ...[
    ...[...duplicates(), ...prototypes(), ...depths(), ...shapes],
    ...[...numbers.map(withId), ...strings.map(named)],
  ].map((text) => Buffer.from(text)),
  ...encodings(),
]
  .map((bytes): HostileBody => ({ bytes, code: codeOf(bytes) }))
  .concat(accepted.map((text) => ({ bytes: Buffer.from(text), code: undefined })));
