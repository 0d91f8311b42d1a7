/** Convenience methods: `pets.find` and `pets.updateWith`. */
import { describe, expect, test } from 'bun:test';
import { AnimalStore, type Pet, PreconditionError, ServerError } from '../../client/src/index.ts';
import { startAppForFile } from '../support/app.ts';
import { rejectionOf } from '../support/rejection.ts';

const app = await startAppForFile();
const store = new AnimalStore({ key: app.key, url: app.url });
const create = (name: string) => store.pets.create({ name, categoryId: 7 });
const extended = ({ name }: Pet) => ({ name: `${name}+` });

describe('pets.find', () => {
  test('returns the animal, or undefined if it does not exist', async () => {
    const pet = await create('Ozzy');
    expect(await store.pets.find(pet.id)).toEqual(pet);
    expect(await store.pets.find(404_404)).toBeUndefined();
    expect(await store.pets.find(pet.id).withResponse()).toMatchObject({
      data: pet,
      status: 200,
      etag: undefined,
    });
  });
});

describe('pets.updateWith', () => {
  test('loses no updates when 20 callers use it concurrently', async () => {
    const { id } = await create('Ozzy');
    await Promise.all(Array.from({ length: 20 }, () => store.pets.updateWith(id, extended)));
    expect(await store.pets.find(id)).toMatchObject({ name: `Ozzy${'+'.repeat(20)}` });
  });

  test('returns the changed animal with its ETag, and changes nothing if the callback returns no patch', async () => {
    const { id } = await create('Ozzy');
    const { data, etag } = await store.pets.updateWith(id, async (pet) => extended(pet)).withResponse();
    expect(data).toMatchObject({ id, name: 'Ozzy+' });
    await store.pets.update(id, { name: 'Rex' }, { ifMatch: etag });
    expect(await store.pets.updateWith(id, () => undefined)).toMatchObject({ name: 'Rex' });
  });

  test('rejects with the error that the callback throws', async () => {
    const { id } = await create('Ozzy');
    const mistake = new Error('not this one');
    const change = () => {
      throw mistake;
    };
    expect(await rejectionOf(store.pets.updateWith(id, change))).toBe(mistake);
    expect(await rejectionOf(store.pets.updateWith(404_404, extended))).toMatchObject({
      code: 'pet_not_found',
    });
  });

  test('gives up if another client always changes the animal first, or if a proxy removes the ETag', async () => {
    const { id } = await create('Ozzy');
    const always = store.pets.updateWith(id, async (pet) => {
      await store.pets.update(id, extended(pet));
      return { name: 'mine' };
    });
    expect(await rejectionOf(always)).toBeInstanceOf(PreconditionError);
    const withoutEtag = new AnimalStore({
      key: app.key,
      url: app.url,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        response.headers.delete('etag');
        return response;
      },
    });
    expect(await rejectionOf(withoutEtag.pets.updateWith(id, extended))).toBeInstanceOf(ServerError);
  });
});
