/** The deprecated operation, `getPet`, before and after its sunset. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { addPets, linksOf } from '../support/pets.ts';

const app = await startAppForFile();
await addPets(app, 3);

test('an empty query string is valid for a deprecated operation', async () => {
  for (const query of ['?', '?&']) expect((await app.call('GET', `/pets/2${query}`)).status).toBe(200);
});

describe('a deprecated operation', () => {
  test('is also marked as deprecated in a 429 response', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 1 });
    await app.call('GET', '/pets', { key });
    const answer = await app.call('GET', '/pets/1', { key });
    expect(answer.status).toBe(429);
    expect(answer.headers.has('Deprecation')).toBe(true);
    expect(answer.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
  });

  test('returns absolute links if a public URL is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com' });
    expect(linksOf(await known.call('GET', '/pets/1'))).toEqual({
      'successor-version': 'https://animals.example.com/v1/pets',
      deprecation: 'https://animals.example.com/docs/guides/versioning',
      help: 'https://animals.example.com/docs/errors/pet_not_found',
    });
  });
});

describe('410 operation_removed', () => {
  test('is returned for every id, starting at the exact millisecond of the sunset', async () => {
    await using old = await startTestApp();
    await addPets(old, 1);
    old.clock.set(Date.parse('2030-12-05T00:00:00Z') - 1);
    expect((await old.call('GET', '/pets/1')).status).toBe(200);
    expect((await old.call('GET', '/pets/99')).status).toBe(404);
    old.clock.set('2030-12-05T00:00:00Z');
    for (const petId of ['1', '99', 'x']) {
      const answer = await old.call('GET', `/pets/${petId}`);
      expect(answer.error).toMatchObject({ status: 410, code: 'operation_removed' });
      expect(answer.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      expect(linksOf(answer)).toHaveProperty('successor-version', '/v1/pets');
    }
    expect((await old.call('GET', '/pets')).status).toBe(200);
  });

  test('is returned from the time in GET_PET_SUNSET, which is also in the Sunset header', async () => {
    await using early = await startTestApp({ GET_PET_SUNSET: '2027-01-15T10:00:01Z' });
    await addPets(early, 1);
    const before = await early.call('GET', '/pets/1');
    expect(before.status).toBe(200);
    expect(before.header('Sunset')).toBe('Fri, 15 Jan 2027 10:00:01 GMT');
    early.clock.advance(1);
    expect((await early.call('GET', '/pets/1')).error.code).toBe('operation_removed');
  });
});
