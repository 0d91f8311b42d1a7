/** Both sides of every bound the contract has, one row each: what is sent, and the status it gets. */
import type { HttpRequest } from './generate/http.ts';
import { words } from './words.ts';

export interface Row {
  readonly what: string;
  readonly request: HttpRequest;
  readonly status: number;
}

const json: readonly [string, string] = ['Content-Type', 'application/json'];

function creation(what: string, body: string | Uint8Array, status: number, chunks?: readonly number[]): Row {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const request = {
    method: 'POST',
    target: '/pets',
    headers: [json],
    body: bytes,
    ...(chunks && { chunks }),
  };
  return { what, request, status };
}

const reading = (what: string, target: string, status: number): Row => ({
  what,
  request: { method: 'GET', target, headers: [] },
  status,
});

const named = (what: string, name: string, status: number) =>
  creation(what, `{"name":${JSON.stringify(name)},"categoryId":1}`, status);

const code = (point: number) => `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;

function nameRows(): Row[] {
  const rows = ['a', 'é', '犬', '\u{1f436}', '\u{10ffff}', '\u0301'].flatMap((character) =>
    [0, 1, 2, 127, 128, 254, 255, 256, 257, 510].map((length) =>
      named(
        `name of ${length} times ${code(character.codePointAt(0) ?? 0)}`,
        character.repeat(length),
        length > 0 && length <= 255 ? 201 : 400,
      ),
    ),
  );
  // Control characters are U+0000 to U+001F and U+007F; U+0080 and on are not.
  for (let point = 0; point <= 0x81; point++) {
    const isControl = point < 0x20 || point === 0x7f;
    rows.push(named(`${code(point)} in a name`, `a${String.fromCharCode(point)}b`, isControl ? 400 : 201));
  }
  for (const point of [0x20, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]) {
    const white = String.fromCharCode(point);
    rows.push(named(`a name of white space ${code(point)}`, white.repeat(3), 400));
    rows.push(named(`a name with white space ${code(point)} around it`, `${white}a${white}`, 201));
  }
  for (const point of [0x200b, 0x2060, 0x00ad])
    rows.push(named(`a name of ${code(point)} alone`, String.fromCharCode(point), 201));
  for (const [unit, status] of [
    [0xd7ff, 201],
    [0xd800, 400],
    [0xdbff, 400],
    [0xdc00, 400],
    [0xdfff, 400],
    [0xe000, 201],
    [0xfffe, 201],
    [0xffff, 201],
  ] as const) {
    rows.push(named(`${code(unit)} alone in a name`, `a${String.fromCharCode(unit)}b`, status));
  }
  rows.push(creation('a pair of surrogates, escaped', '{"name":"\\ud83d\\udc36","categoryId":1}', 201));
  rows.push(creation('a pair the wrong way round', '{"name":"\\udc36\\ud83d","categoryId":1}', 400));
  return rows;
}

const category = (number: string, status: number) =>
  creation(
    `categoryId ${number.length > 40 ? `${number.slice(0, 40)}…` : number}`,
    `{"name":"a","categoryId":${number}}`,
    status,
  );

function integerRows(): Row[] {
  const largest = 2n ** 63n - 1n;
  const around = [-2n, -1n, 0n, 1n, 2n];
  const rows = around.flatMap((step) => [
    category(String(largest + step), step > 0n ? 400 : 201),
    category(String(-largest - 1n + step), step < 0n ? 400 : 201),
    category(String(2n ** 53n + step), 201),
    category(String(-(2n ** 53n) + step), 201),
    category(String(2n ** 64n + step), 400),
  ]);
  for (let exponent = 0; exponent <= 24; exponent++) {
    rows.push(category(`1e${exponent}`, exponent <= 18 ? 201 : 400));
    rows.push(category(`-1E+${exponent}`, exponent <= 18 ? 201 : 400));
    rows.push(category(`1${'0'.repeat(exponent)}`, exponent <= 18 ? 201 : 400));
    rows.push(category(`100000000e-${exponent}`, exponent <= 8 ? 201 : 400));
  }
  const exact = [
    ...words`
      1.0 0 -0 0.0 0e999999 0e-999999 1.50e1 9.223372036854775807e18 -9.223372036854775808e18
      9223372036854775807.000 92233720368547758070e-1
    `,
    `1${'0'.repeat(400)}e-400`,
    `0.${'0'.repeat(400)}1e401`,
  ];
  const inexact = [
    ...words`
      1.5 9.2233720368547758071e18 9.223372036854775808e18 -9.223372036854775809e18
      9223372036854775807.5 0.1 1e-1 1e400 -1e400 1e999999999999 1e-999999999999
    `,
    `1.${'0'.repeat(400)}1`,
  ];
  return [
    ...rows,
    ...exact.map((number) => category(number, 201)),
    ...inexact.map((number) => category(number, 400)),
  ];
}

function queryRows(): Row[] {
  const rows: Row[] = [];
  for (let limit = -2; limit <= 110; limit++) {
    rows.push(reading(`limit ${limit}`, `/pets?limit=${limit}`, limit >= 1 && limit <= 100 ? 200 : 400));
  }
  for (const status of ['available', 'pending', 'sold']) {
    rows.push(reading(`status ${status}`, `/pets?status=${status}`, 200));
    for (const other of [status.slice(0, -1), `${status}s`, status.toUpperCase()]) {
      rows.push(reading(`status ${other}`, `/pets?status=${other}`, 400));
    }
  }
  const cursorOf = (text: string) => `/pets?cursor=${Buffer.from(text).toString('base64url')}`;
  for (const [after, status] of [
    ['0', 400],
    ['1', 200],
    ['01', 400],
    ['9223372036854775807', 200],
    ['9223372036854775808', 400],
    ['-1', 400],
  ] as const) {
    rows.push(reading(`a cursor behind ${after}`, cursorOf(`.${after}`), status));
  }
  for (const id of words`9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 0 -1 00 +1 1.0`) {
    rows.push(reading(`animal ${id}`, `/pets/${id}`, 404));
  }
  return rows;
}

function bodyRows(): Row[] {
  const valid = '{"name":"a","categoryId":1}';
  const rows: Row[] = [0, valid.length, 16_383, 16_384, 16_385, 16_386, 20_000, 65_536].flatMap((size) => {
    const body = valid.padEnd(size).slice(0, size === 0 ? 0 : undefined);
    const status = size === 0 ? 400 : size <= 16_384 ? 201 : 413;
    return [
      creation(`a body of ${size} bytes`, body, status),
      creation(`a body of ${size} bytes in chunks`, body, status, [1, 4_095]),
    ];
  });
  // Deep bodies are refused either way; at 32 levels it is for what they are, beyond for how deep they are.
  for (const depth of [1, 31, 32, 33, 100])
    rows.push(creation(`depth ${depth}`, '['.repeat(depth) + ']'.repeat(depth), 400));
  for (const [type, status] of [
    ['application/json', 201],
    ['application/json;charset=utf-8', 201],
    ['application/json;charset=utf-16', 415],
    ['application/jso', 415],
    ['application/jsonl', 415],
  ] as const) {
    rows.push({
      what: `media type ${type}`,
      status,
      request: {
        method: 'POST',
        target: '/pets',
        headers: [['Content-Type', type]],
        body: Buffer.from(valid),
      },
    });
  }
  return rows;
}

/** Every row with a valid key added; the rest of the request stands as it is. */
export function boundsTable(key: string): Row[] {
  const rows = [...nameRows(), ...integerRows(), ...queryRows(), ...bodyRows()].map(
    ({ request, ...row }) => ({
      ...row,
      request: { ...request, headers: [...request.headers, ['Authorization', `Bearer ${key}`] as const] },
    }),
  );
  return [...rows, ...keyRows(key)];
}

function keyRows(key: string): Row[] {
  const forms: [string, number][] = [
    [key, 200],
    [key.slice(0, -1), 401],
    [`${key}0`, 401],
    [key.toLowerCase(), 401],
    ['', 401],
    ['a', 401],
    [`${key.slice(0, -1)}_`, 401],
  ];
  const rows = forms.map(([credential, status]) => ({
    what: `a credential of ${credential.length} characters`,
    request: {
      method: 'GET',
      target: '/pets',
      headers: [['Authorization', `Bearer ${credential}`]] as const,
    },
    status,
  }));
  return rows;
}
