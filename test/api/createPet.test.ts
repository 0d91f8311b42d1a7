import { afterAll, describe, expect, test } from 'bun:test';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const create = (body: string) => app.call('POST', '/pets', { body });

/** What was stored, as the deprecated operation shows it. */
const stored = async (id: bigint) => (await app.call('GET', `/pets/${id}`)).json;

/** Sends a body that is wrong and expects to be told where. */
async function refused(body: string, ...names: string[]): Promise<string> {
  const answer = await create(body);
  expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
  expect(faulty(answer).sort()).toEqual(names.map((name) => `body:${name}`).sort());
  return answer.error.message;
}

describe('201', () => {
  test('answers the animal with its id, members in the order id, name, categoryId, status', async () => {
    await using fresh = await startTestApp();
    const body = '{"status":"pending","categoryId":7,"name":"Ozzy"}';
    const { text } = await fresh.call('POST', '/pets', { body });
    expect(text).toBe('{"id":1,"name":"Ozzy","categoryId":7,"status":"pending"}');
  });

  test('assigns ascending ids and stores what it answers', async () => {
    const answers = [await create(newPet('a')), await create(newPet('b')), await create(newPet('c'))];
    const pets = answers.map(({ json }) => json as { id: bigint });
    expect(pets.map(({ id }) => id - (pets[0]?.id ?? 0n))).toEqual([0n, 1n, 2n]);
    for (const pet of pets) expect(await stored(pet.id)).toEqual(pet);
  });

  test('assigns every id once, however many are added together', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => create(newPet(`Twin ${at}`))));
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(201));
    expect(new Set(answers.map(({ json }) => (json as { id: bigint }).id)).size).toBe(200);
    for (const [at, { json }] of answers.entries()) expect(json).toMatchObject({ name: `Twin ${at}` });
  });

  test('gives the status available to an animal without one', async () => {
    expect((await create('{"name":"Ozzy","categoryId":1}')).json).toMatchObject({ status: 'available' });
  });

  test.each([...petStatuses])('keeps the status %s', async (status) => {
    expect((await create(newPet('Ozzy', '1', status))).json).toMatchObject({ status });
  });
});

describe('201: where it is', () => {
  test('Location leads to the animal, and ETag is the one it has there', async () => {
    const answer = await create(newPet());
    const { id } = answer.json as { id: bigint };
    expect(answer.header('Location')).toBe(`/v1/pets/${id}`);
    const read = await app.call('GET', `/pets/${id}`);
    expect([read.text, read.header('ETag')]).toEqual([answer.text, answer.header('ETag')]);
  });

  test('the ETag is good for a change of the animal', async () => {
    const answer = await create(newPet());
    const path = answer.header('Location').replace('/v1', '');
    const headers = { 'If-Match': answer.header('ETag') };
    const changed = await app.call('PATCH', path, { body: '{"name":"Maple"}', headers });
    expect(changed.status).toBe(200);
    expect(changed.header('ETag')).not.toBe(answer.header('ETag'));
  });

  test('Location is absolute when a public address is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com/store/' });
    const answer = await known.call('POST', '/pets', { body: newPet() });
    expect(answer.header('Location')).toBe('https://animals.example.com/store/v1/pets/1');
  });

  test('a refused animal has neither, and costs no id', async () => {
    await using fresh = await startTestApp();
    const refused = await fresh.call('POST', '/pets', { body: '{}' });
    expect(refused.status).toBe(400);
    for (const name of ['Location', 'ETag']) expect(refused.headers.has(name)).toBe(false);
    expect((await fresh.call('POST', '/pets', { body: newPet() })).json).toMatchObject({ id: 1n });
  });
});

describe('201: name', () => {
  test.each([
    ['one character', 'x'],
    ['255 characters', 'x'.repeat(255)],
    ['one character beyond the basic plane', '🐈'],
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
    const answer = await create(newPet(name));
    const pet = answer.json as { id: bigint };
    expect(pet).toMatchObject({ name });
    expect(await stored(pet.id)).toEqual(pet);
  });

  test('may be sent escaped or plain', async () => {
    const escaped = '{"n\\u0061me":"\\u00e9\\ud83d\\udc08","categoryId":1}';
    expect((await create(escaped)).json).toMatchObject({ name: 'é🐈' });
  });
});

describe('201: categoryId', () => {
  test.each([
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9007199254740993', 9007199254740993n],
    ['0', 0n],
    ['-0', 0n],
    ['1.0', 1n],
    ['1e2', 100n],
    ['1E+2', 100n],
    ['120e-1', 12n],
    ['0.12e2', 12n],
    ['-1.50e1', -15n],
    ['9.223372036854775807e18', 2n ** 63n - 1n],
    [`1.${'0'.repeat(1_000)}`, 1n],
    [`0e${'9'.repeat(1_000)}`, 0n],
  ])('%s comes back digit for digit', async (text, value) => {
    const answer = await create(newPet('Ozzy', text));
    const pet = answer.json as { id: bigint };
    expect(answer.text).toContain(`"categoryId":${value},`);
    expect(await stored(pet.id)).toMatchObject({ categoryId: value });
  });
});

describe('400 invalid_body: name', () => {
  test.each([
    ['empty', ''],
    ['256 characters', 'x'.repeat(256)],
    ['256 characters beyond the basic plane', '🐈'.repeat(256)],
    ['a space', ' '],
    ['only white space of many kinds', ' \u00a0\u1680\u2003\u2028\u202f\u205f\u3000'],
  ])('when it is %s', async (_, name) => {
    await refused(newPet(name), 'name');
  });

  const controls = [...Array.from({ length: 32 }, (_, code) => code), 0x7f];
  test.each(controls)('when it has the control character %i', async (code) => {
    const escaped = `\\u${code.toString(16).padStart(4, '0')}`;
    expect(await refused(`{"name":"a${escaped}b","categoryId":1}`, 'name')).toContain('control characters');
  });

  test.each(['\\ud83d', '\\udc08', 'a\\udc08\\ud83d', '\\ud83dx'])(
    'when it has a lone surrogate: %s',
    async (name) => {
      expect(await refused(`{"name":"${name}","categoryId":1}`, 'name')).toContain('surrogate');
    },
  );

  test.each(['null', '1', 'true', '["Ozzy"]', '{"first":"Ozzy"}'])(
    'when it is no string: %s',
    async (name) => {
      expect(await refused(`{"name":${name},"categoryId":1}`, 'name')).toContain('must be a string');
    },
  );
});

describe('400 invalid_body: categoryId', () => {
  const beyond = [
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e400',
    '-1e400',
    `1e${'9'.repeat(500)}`,
  ];
  const fractions = ['1.5', '1e-1', '0.1', '-0.5', '1e-400', '9223372036854775807.5'];
  test.each([...beyond, ...fractions])('when it is no int64: %s', async (text) => {
    await refused(newPet('Ozzy', text), 'categoryId');
  });

  test.each(['"1"', '""', 'null', 'true', '[1]', '{"id":1}'])('when it is no number: %s', async (text) => {
    expect(await refused(newPet('Ozzy', text), 'categoryId')).toContain('must be an integer');
  });
});

describe('400 invalid_body: status', () => {
  test.each(['null', '""', '"Sold"', '"lost"', '" sold"', '1', 'true', '["sold"]', '{}'])(
    'when it is %s',
    async (status) => {
      const message = await refused(`{"name":"Ozzy","categoryId":1,"status":${status}}`, 'status');
      for (const known of petStatuses) expect(message).toContain(known);
    },
  );
});

describe('400 invalid_body: members', () => {
  test('when required ones are missing, naming each', async () => {
    await refused('{"categoryId":1}', 'name');
    await refused('{"name":"Ozzy"}', 'categoryId');
    await refused('{"status":"sold"}', 'name', 'categoryId');
    await refused('{}', 'name', 'categoryId');
  });

  test.each(['id', 'category_id', 'colour', 'Name', '', 'constructor', 'toString', 'hasOwnProperty'])(
    'when one is unknown: %s',
    async (name) => {
      await refused(`{"name":"Ozzy","categoryId":1,"${name}":1}`, name);
    },
  );

  test.each([
    ['name', '{"name":"Ozzy","categoryId":1,"name":"Ozzy"}'],
    ['name', '{"name":"Ozzy","categoryId":1,"n\\u0061me":"Max"}'],
    ['categoryId', '{"name":"Ozzy","categoryId":1,"categoryId":1}'],
    ['colour', '{"name":"Ozzy","categoryId":1,"colour":1,"colour":2}'],
    ['__proto__', '{"name":"Ozzy","categoryId":1,"__proto__":{"status":"sold"}}'],
    ['__proto__', '{"name":"Ozzy","categoryId":1,"\\u005f_proto__":null}'],
  ])('when %s is given twice or is none of an animal: %s', async (name, body) => {
    await refused(body, name);
  });

  test('lists all mistakes at once', async () => {
    await refused(
      '{"name":"","categoryId":"1","status":"lost","id":1,"colour":"red"}',
      ...['name', 'categoryId', 'status', 'id', 'colour'],
    );
  });

  test.each([
    ['{"name":"a","name":"b","categoryId":"1","colour":1}', ['name', 'categoryId', 'colour']],
    ['{"name":"","name":"","status":"lost"}', ['name', 'categoryId', 'status']],
    ['{"__proto__":1,"name":""}', ['__proto__', 'name', 'categoryId']],
    ['{"name":{"name":1,"name":2},"categoryId":1}', ['name', 'name']],
    ['{"other":{"a":1,"a":2},"name":"Ozzy"}', ['a', 'other', 'categoryId']],
    ['[{"a":1,"a":2}]', ['a', '']],
  ])('lists all mistakes also when a member is given twice: %s', async (body, names) => {
    const answer = await create(body);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer).sort()).toEqual(names.map((name) => `body:${name}`).sort());
  });

  test('says of a member given twice only that: which of its values counts is not known', async () => {
    const answer = await create('{"name":"","name":"Ozzy","categoryId":1}');
    expect(answer.error.details).toEqual([{ in: 'body', name: 'name', message: 'is given more than once' }]);
  });

  test('lists mistakes in the query beside a member given twice', async () => {
    const answer = await app.call('POST', '/pets?dry=1', {
      body: '{"name":"a","name":"a","categoryId":1}',
    });
    expect(faulty(answer)).toEqual(['query:dry', 'body:name']);
  });

  test.each(['[]', '[{"name":"Ozzy","categoryId":1}]', '"Ozzy"', '1', '1.5', 'true', 'null'])(
    'when the body is no object: %s',
    async (body) => {
      await refused(body, '');
    },
  );
});
