/** Bodies made to break JSON parsers, and whether the contract lets an animal come of them. */
import { type HostileBody, largest, member, name, of } from './hostile-json-body.ts';
import { encodings, numbers, strings } from './hostile-json-scalars.ts';
import { texts, words } from './words.ts';

function duplicates(): HostileBody[] {
  const names = [
    ...words`name categoryId status \u006eame n\u0061me category\u0049d \u0073tatus x \ud800 \u0000`,
    '',
  ];
  const twice = names.flatMap((text) => [
    of(`member ${text} twice`, 'invalid_body', member(`"${text}":1,"${text}":1`)),
    of(
      ...texts(`member ${text} at both ends|invalid_body`),
      ...texts(`{"${text}":"sold","name":"a","categoryId":1,"${text}":"sold"}`),
    ),
    of(`member ${text} twice in an inner object`, 'invalid_body', name(`{"${text}":1,"${text}":1}`)),
  ]);
  const same = [
    ['name', '\\u006eame'],
    ['status', 'st\\u0061tus'],
    ['a', '\\u0061'],
    ['\u{1f436}', '\\ud83d\\udc36'],
    ['/', '\\/'],
  ];
  const disguised = same.map(([one, other]) =>
    of(`${one} and ${other}`, 'invalid_body', member(`"${one}":1,"${other}":1`)),
  );
  return [
    ...twice,
    ...disguised,
    of('2,000 times the same member', 'invalid_body', `{${'"name":1,'.repeat(1_700)}"name":1}`),
  ];
}

function prototypes(): HostileBody[] {
  const names = words`
      __proto__ \u005f_proto__ __\u0070roto__ constructor prototype __defineGetter__ toString valueOf
      hasOwnProperty then toJSON length 0
    `;
  const values = ['{}', 'null', '{"status":"sold"}', '[]', '{"__proto__":{}}', '1'];
  return names.flatMap((text) => [
    ...values.map((inner) =>
      of(`member ${text} with ${inner}`, 'invalid_body', member(`"${text}":${inner}`)),
    ),
    of(`${text} instead of name`, 'invalid_body', `{"${text}":{"name":"a"},"categoryId":1}`),
    of(`${text} inside a value`, 'invalid_body', name(`{"${text}":"a"}`)),
  ]);
}

function depths(): HostileBody[] {
  const opened = ['[', '{"a":', '[{"a":', '[[],', '{"name":'];
  const unclosed = opened.flatMap((text) =>
    [33, 1_000, Math.floor(largest / text.length)].map((count) =>
      of(`${count} times ${text}`, 'invalid_json', text.repeat(count)),
    ),
  );
  const closed = [33, 100, 1_000, 8_000].flatMap((depth) => [
    of(`an array ${depth} deep`, 'invalid_json', '['.repeat(depth) + ']'.repeat(depth)),
    of(
      ...texts(`an object ${depth} deep|invalid_json`),
      ...texts(`${'{"a":'.repeat(Math.min(depth, 2_700))}1${'}'.repeat(Math.min(depth, 2_700))}`),
    ),
  ]);
  const shallow = [2, 16, 31].map((depth) =>
    of(`a name ${depth} deep`, 'invalid_body', name('['.repeat(depth) + ']'.repeat(depth))),
  );
  return [...unclosed, ...closed, ...shallow];
}

const shapesBroken = [
  ...words`
    { } [ ] {] [} {}{} {}, , : {"name"} {"name":} {:1} {,} {"name":"a",,"categoryId":1}
    {"name":"a","categoryId":1,} [1,] {name:"a"} {"name"="a"} {"name":"a";"categoryId":1} {}// #
    undefined nul TRUE None {"name":undefined} {1:1} {null:1} <pet/> {"name":"a"
  `,
  ...texts('// a\n{}|/* a */{}|{"a":1 "b":2}|\u0000|{}\u0000|\u00a0{}|\u2028{}|\f{}|\v{}|)]}\'\n{}'),
  ...texts('name: a| '),
  '\n'.repeat(16_000),
  '{}'.repeat(8_000),
  '"'.repeat(16_001),
  ','.repeat(16_000),
  '{"a":{}'.repeat(100),
  ...texts('[1,2|-|"'),
];

const shapesRefused = [
  ...words`{} [] [[]] [{"name":"a","categoryId":1}] null true false 0 -1 1.5 1e999 "a" "" [null]`,
  `[${'1,'.repeat(8_000)}1]`,
  `[${'{},'.repeat(5_400)}{}]`,
  `{${Array.from({ length: 1_500 }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`,
  ...texts('{"name":"a"}|{"categoryId":1}|{"name":null,"categoryId":null}'),
  ...texts('{"name":"a","categoryId":"1"}|{"name":["a"],"categoryId":[1]}'),
  ...texts('{"name":{"toString":"a"},"categoryId":{"valueOf":1}}|{"name":true,"categoryId":true}'),
  member('"status":null'),
  member('"status":["sold"]'),
  member('"status":""'),
  member('"status":"sold\\u0000"'),
  member('"id":1'),
  member('"Status":"sold"'),
  member('"":1'),
  member('" status":"sold"'),
];

const shapesAccepted = [
  name('"a"'),
  ` \t\r\n${name('"a"')}\n`,
  name('"a"').padEnd(largest),
  member('"status":"s\\u006fld"'),
  '{"\\u006eame":"a","c\\u0061tegoryId":1}',
  '{"categoryId":1,"name":"a"}',
];

function shapes(): HostileBody[] {
  return [
    ...shapesBroken.map((text) => of(`the text ${JSON.stringify(text.slice(0, 30))}`, 'invalid_json', text)),
    ...shapesRefused.map((text) => of(`the value ${text.slice(0, 40)}`, 'invalid_body', text)),
    ...shapesAccepted.map((text) => of(`the animal ${text.slice(0, 40)}`, undefined, text)),
  ];
}

export const hostileBodies: readonly HostileBody[] = [
  duplicates,
  prototypes,
  depths,
  numbers,
  strings,
  encodings,
  shapes,
].flatMap((table) => table());
