import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const create = (body: string) => app.call('POST', '/pets', { body });

/** The animal as stored. */
const stored = async (id: bigint) => (await app.call('GET', `/pets/${id}`)).json;

/** Sends a wrong body, expects its members to be blamed and nothing else, and returns the message. */
async function refused(body: string, ...names: string[]): Promise<string> {
  const answer = await create(body);
  expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
  expect(faulty(answer).sort()).toEqual(names.map((name) => `body:${name}`).sort());
  return answer.error.message;
}

describe('201', () => {
  test('has the animal, members in the order id, name, categoryId, status', async () => {
    await using fresh = await startTestApp();
    const refusal = await fresh.call('POST', '/pets', { body: '{}' });
    for (const name of ['Location', 'ETag']) expect(refusal.headers.has(name)).toBe(false);
    const body = '{"status":"pending","categoryId":7,"name":"Ozzy"}';
    const { text } = await fresh.call('POST', '/pets', { body });
    // The refused animal used no id.
    expect(text).toBe('{"id":1,"name":"Ozzy","categoryId":7,"status":"pending"}');
  });

  test('assigns ascending ids', async () => {
    const answers = [await create(newPet('a')), await create(newPet('b')), await create(newPet('c'))];
    const ids = answers.map(({ json }) => (json as { id: bigint }).id);
    expect(ids.map((id) => id - (ids[0] ?? 0n))).toEqual([0n, 1n, 2n]);
  });

  test('assigns every id once to concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => create(newPet(`Twin ${at}`))));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201));
    expect(new Set(answers.map(({ json }) => (json as { id: bigint }).id)).size).toBe(50);
    for (const [at, { json }] of answers.entries()) expect(json).toMatchObject({ name: `Twin ${at}` });
  });

  test('keeps the status, which is available by default', async () => {
    expect((await create('{"name":"Ozzy","categoryId":1}')).json).toMatchObject({ status: 'available' });
    for (const status of petStatuses) {
      expect((await create(newPet('Ozzy', '1', status))).json).toMatchObject({ status });
    }
  });

  test('has a Location where the animal is, under the ETag of the answer', async () => {
    const answer = await create(newPet());
    const { id } = answer.json as { id: bigint };
    expect(answer.header('Location')).toBe(`/v1/pets/${id}`);
    const read = await app.call('GET', `/pets/${id}`);
    expect([read.text, read.header('ETag')]).toEqual([answer.text, answer.header('ETag')]);
  });

  test('has an absolute Location when a public address is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com/store/' });
    const answer = await known.call('POST', '/pets', { body: newPet() });
    expect(answer.header('Location')).toBe('https://animals.example.com/store/v1/pets/1');
  });
});

// Which names and numbers are valid is tested in domain/new-pet.test.ts and domain/json.test.ts.
describe('201: name', () => {
  test.each([
    ['255 characters beyond the basic plane, 510 UTF-16 units', '🐈'.repeat(255)],
    ['white space around a character', ' \u00a0x\u3000 '],
    ['characters JSON has to escape', '"\\/'],
    ['characters next to the control characters', ' ~\u0080\u009f'],
    ['line separators and invisible characters', 'a\u2028\u2029\u200b\u202e\ufeffb'],
    ['noncharacters and the last code point', 'a\ufffe\uffff\u{10ffff}'],
    ['combining characters, not composed', 'e\u0301'],
    ['markup and SQL', "<b>&amp;</b>'); DROP TABLE pets;--"],
    ['names of members', '__proto__'],
  ])('is stored and returned exactly as sent: %s', async (_, name) => {
    const pet = (await create(newPet(name))).json as { id: bigint };
    expect(pet).toMatchObject({ name });
    expect(await stored(pet.id)).toEqual(pet);
  });

  test('may be sent escaped', async () => {
    const escaped = '{"n\\u0061me":"\\u00e9\\ud83d\\udc08","categoryId":1}';
    expect((await create(escaped)).json).toMatchObject({ name: 'é🐈' });
  });
});

test('ids beyond 2^53 are exact in every response', async () => {
  await using fresh = await startTestApp();
  await fresh.call('POST', '/pets', { body: newPet() });
  using database = new Database(fresh.config.databaseUrl.replace('sqlite:', ''));
  database.run('UPDATE sqlite_sequence SET seq = 9007199254740992');
  const pet = (await fresh.call('POST', '/pets', { body: newPet() })).text;
  expect(pet).toStartWith('{"id":9007199254740993,');
  expect((await fresh.call('GET', '/pets/9007199254740993')).text).toBe(pet);
  expect((await fresh.call('GET', '/pets?id=9007199254740993')).text).toBe(`[${pet}]`);
});

describe('201: categoryId', () => {
  test.each([
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9007199254740993', 9007199254740993n],
    ['-0', 0n],
    ['1.0', 1n],
    ['-1.50e1', -15n],
    ['9.223372036854775807e18', 2n ** 63n - 1n],
    [`1.${'0'.repeat(1_000)}`, 1n],
  ])('%s comes back digit for digit', async (text, value) => {
    const answer = await create(newPet('Ozzy', text));
    expect(answer.text).toContain(`"categoryId":${value},`);
    expect(await stored((answer.json as { id: bigint }).id)).toMatchObject({ categoryId: value });
  });
});

describe('400 invalid_body', () => {
  test.each([
    ['empty', '""', ''],
    ['256 characters beyond the basic plane', `"${'🐈'.repeat(256)}"`, ''],
    ['only white space', '" \\u00a0\\u1680\\u2003\\u3000"', ''],
    ['with NUL', '"a\\u0000b"', 'control characters'],
    ['with DEL', '"a\\u007fb"', 'control characters'],
    ['with a lone surrogate', '"\\ud83dx"', 'surrogate'],
    ['null', 'null', 'must be a string'],
    ['a number', '1', 'must be a string'],
    ['a list', '["Ozzy"]', 'must be a string'],
  ])('for a name that is %s', async (_, name, message) => {
    expect(await refused(`{"name":${name},"categoryId":1}`, 'name')).toContain(message);
  });

  test.each(['9223372036854775808', '-9223372036854775809', '1e400', '1.5', '1e-400'])(
    'for a categoryId that is no int64: %s',
    async (text) => {
      await refused(newPet('Ozzy', text), 'categoryId');
    },
  );

  test.each(['"1"', 'null', 'true', '[1]', '{"id":1}'])(
    'for a categoryId that is no number: %s',
    async (text) => {
      expect(await refused(newPet('Ozzy', text), 'categoryId')).toContain('must be an integer');
    },
  );

  test.each(['null', '""', '"Sold"', '" sold"', '1', '["sold"]'])('for the status %s', async (status) => {
    const message = await refused(`{"name":"Ozzy","categoryId":1,"status":${status}}`, 'status');
    for (const known of petStatuses) expect(message).toContain(known);
  });

  test.each(['id', 'category_id', 'Name', '', 'constructor', 'hasOwnProperty'])(
    'for an unknown member: "%s"',
    async (name) => {
      await refused(`{"name":"Ozzy","categoryId":1,"${name}":1}`, name);
    },
  );

  test.each([
    ['{}', ['name', 'categoryId']],
    [
      '{"name":"","categoryId":"1","status":"lost","id":1,"colour":"red"}',
      ['name', 'categoryId', 'status', 'id', 'colour'],
    ],
    ['{"name":"Ozzy","categoryId":1,"n\\u0061me":"Max"}', ['name']],
    ['{"name":"Ozzy","categoryId":1,"colour":1,"colour":2}', ['colour']],
    ['{"name":"Ozzy","categoryId":1,"\\u005f_proto__":null}', ['__proto__']],
    ['{"__proto__":1,"name":""}', ['__proto__', 'name', 'categoryId']],
    ['{"name":"a","name":"b","categoryId":"1","colour":1}', ['name', 'categoryId', 'colour']],
    ['{"name":{"name":1,"name":2},"categoryId":1}', ['name', 'name']],
    ['{"other":{"a":1,"a":2},"name":"Ozzy"}', ['a', 'other', 'categoryId']],
    ['[{"a":1,"a":2}]', ['a', '']],
    ...['[]', '"Ozzy"', '1.5', 'true', 'null'].map((body) => [body, ['']] as const),
  ])('lists all mistakes of %s', async (body, names) => {
    await refused(body, ...names);
  });

  test('reports a repeated member without judging its values', async () => {
    const answer = await create('{"name":"","name":"Ozzy","categoryId":1}');
    expect(answer.error.details).toEqual([{ in: 'body', name: 'name', message: 'is given more than once' }]);
  });

  test('lists mistakes in the query beside a repeated member', async () => {
    const body = '{"name":"a","name":"a","categoryId":1}';
    expect(faulty(await app.call('POST', '/pets?dry=1', { body }))).toEqual(['query:dry', 'body:name']);
  });
});
