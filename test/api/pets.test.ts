/**
 * Animal behavior not covered by the random walk in `test/storage/every-operation.test.ts` or by
 * `every-mistake.test.ts`.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startAppForFile();

async function added(): Promise<string> {
  const { json } = await app.call('POST', '/pets', { body: newPet() });
  return `/pets/${(json as { id: bigint }).id}`;
}

test('the Location of a new animal is absolute if a public URL is configured', async () => {
  await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com/store/' });
  const answer = await known.call('POST', '/pets', { body: newPet() });
  expect(answer.header('Location')).toBe('https://animals.example.com/store/v1/pets/1');
});

test('ids above 2^53 are exact in every response and are not reused after a restart', async () => {
  await using fresh = await startTestApp();
  await addPets(fresh, 1);
  {
    using database = new Database(fresh.config.databaseUrl.replace('sqlite:', ''));
    database.run('UPDATE sqlite_sequence SET seq = 9007199254740992');
  }
  const pet = (await fresh.call('POST', '/pets', { body: newPet() })).text;
  expect(pet).toStartWith('{"id":9007199254740993,');
  expect((await fresh.call('GET', '/pets/9007199254740993')).text).toBe(pet);
  expect((await fresh.call('GET', '/pets?id=9007199254740993')).text).toBe(`[${pet}]`);
  await fresh.call('DELETE', '/pets/9007199254740993');
  await fresh.restart();
  const { text } = await fresh.call('POST', '/pets', { body: newPet() });
  expect(text).toStartWith('{"id":9007199254740994,');
});

test.each(['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8'])(
  'updatePet accepts a body with the media type %s',
  async (type) => {
    const answer = await app.call('PATCH', await added(), { type, body: '{"name":"Maple"}' });
    expect(answer.json).toMatchObject({ name: 'Maple' });
  },
);

describe('deletePet', () => {
  test('ignores a body', async () => {
    expect((await app.call('DELETE', await added(), { body: '{', type: 'text/plain' })).status).toBe(204);
  });
});
