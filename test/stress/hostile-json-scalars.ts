/** Hostile numbers, strings and encodings. */
import { type HostileBody, name, of, value } from './hostile-json-body.ts';
import { texts, words } from './words.ts';

const numbersRefused = [
  ...words`1e400 -1e400 1e-400 1e99999999999 -1e-99999999999`,
  `1e${'9'.repeat(16_000)}`,
  '9'.repeat(16_000),
  ...texts(`0.${'0'.repeat(15_000)}1|1.${'01'.repeat(8_000)}|1${'0'.repeat(8_000)}1`),
  ...texts('9223372036854775808|-9223372036854775809|18446744073709551616|9007199254740993.5'),
  ...texts('1.0000000000000000000000001|9223372036854775807.0000001|4.9e-324|2.2250738585072011e-308'),
  ...texts('1.7976931348623157e309'),
];

const numbersAccepted = [
  ...texts(`-0|0e400|-0.0e-400|1${'0'.repeat(8_000)}e-8000|0.${'0'.repeat(8_000)}1e8001`),
  ...texts(`1.${'0'.repeat(16_000)}|1e${'0'.repeat(16_000)}|9223372036854775807|-9223372036854775808`),
  ...texts('9007199254740993|9223372036854775807e0|92233720368547758070e-1'),
];

const numbersBroken = [
  ...words`
    01 -01 00 +1 .5 1. - --1 1e 1e+ 1e1.5 0x1 0b1 0o1 1_000 1n NaN Infinity -Infinity 1, 1f 1d 1L
    1e+-1 ..1 1..1
  `,
  ...texts('１|٣|1 1|- 1|1e 1'),
];

export function numbers(): HostileBody[] {
  return [
    ...numbersRefused.map((text) => of(`the number ${text.slice(0, 30)}`, 'invalid_body', value(text))),
    ...numbersAccepted.map((text) => of(`the number ${text.slice(0, 30)}`, undefined, value(text))),
    ...numbersBroken.map((text) => of(`${text} as a number`, 'invalid_json', value(text))),
  ];
}

const stringsBroken = [
  ...words`"\x41" "\u12" "\u" "\uD8" "\u{41}" "\U0041" "\a" "\0" "a "\" 'a' "a""b"`,
  ...texts('“a”|"\\\n"|`a`|"a" "b"|"\t"|"\n"|"\r"|"\u0000"|"\u001f"'),
];

const stringsRefused = [
  ...words`
    "\ud800" "\udfff" "a\ud83d" "\ud83d\ud83d\udc36" "\udc36\ud83d" "\u0000" "\u001f" "\u007f" "\b"
    "\f" "\n" "\r" "\t" "" "\u2028"
  `,
  ...texts(`"\u007f"|" "|"${'a'.repeat(16_000)}"|"${'\\u0061'.repeat(2_600)}"`),
  ...texts(`"${'\\\\'.repeat(8_000)}"|"${' '.repeat(16_000)}"`),
];

const stringsAccepted = [
  ...words`"\ud83d\udc36" "\u0061" "\/" "\\" "\"" "\uFFFE" "__proto__" "</script>"`,
  ...texts(`"\u2028a"|"\ufeffa"|"\uffff"|"\ufffd"|"\u{10ffff}"|"${"'; DROP TABLE pets; --"}"|"%s%n"`),
  ...texts('"{}"|"a\u202eb"'),
];

export function strings(): HostileBody[] {
  return [
    ...stringsBroken.map((text) => of(`the string ${JSON.stringify(text)}`, 'invalid_json', name(text))),
    ...stringsRefused.map((text) => of(`the name ${text.slice(0, 30)}`, 'invalid_body', name(text))),
    ...stringsAccepted.map((text) => of(`the name ${text}`, undefined, name(text))),
  ];
}

export function encodings(): HostileBody[] {
  const good = Buffer.from(name('"a?b"'));
  const at = good.indexOf('?');
  const broken: number[][] = [
    [0xff],
    [0xfe],
    [0x80],
    [0xbf],
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xc2],
    [0xe0, 0x80, 0x80],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0x80],
    [0xf0, 0x9f, 0x90],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xc3, 0x28],
    [0xe2, 0x28, 0xa1],
  ];
  const within = broken.flatMap((bytes) => [
    of(
      `bytes ${Buffer.from(bytes).toString('hex')} in a name`,
      'invalid_json',
      Buffer.concat([good.subarray(0, at), Buffer.from(bytes), good.subarray(at + 1)]),
    ),
    of(
      `bytes ${Buffer.from(bytes).toString('hex')} at the end`,
      'invalid_json',
      Buffer.concat([good, Buffer.from(bytes)]),
    ),
  ]);
  const bom = Buffer.from([0xef, 0xbb, 0xbf]);
  return [
    ...within,
    of('a BOM before', 'invalid_json', Buffer.concat([bom, good])),
    of('a BOM behind', 'invalid_json', Buffer.concat([good, bom])),
    of('a BOM alone', 'invalid_json', bom),
    of('UTF-16, little end first', 'invalid_json', Buffer.from(name('"a"'), 'utf16le')),
    of(
      'UTF-16 with BOM',
      'invalid_json',
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(name('"a"'), 'utf16le')]),
    ),
    of(
      'UTF-32',
      'invalid_json',
      Buffer.from([...name('"a"')].flatMap((text) => [0, 0, 0, text.charCodeAt(0)])),
    ),
    of('gzip', 'invalid_json', Bun.gzipSync(good)),
  ];
}
