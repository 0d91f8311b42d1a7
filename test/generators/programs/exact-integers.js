/** Prints the responses that a client with exact integers receives. Usage: `exact-integers.js URL KEY CATEGORY_ID`. */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'lossless-json';
import { clientOf } from './openapi-fetch.ts';

const [url = '', key = '', categoryId = ''] = process.argv.slice(2);
const client = clientOf(url, key);
const { pet } = await client.createPet({ name: 'Ozzy', categoryId: BigInt(categoryId) });
console.log(stringify(pet));
const { pets = [] } = await client.listPets();
console.log(`${pets.length} animal, ${isDeepStrictEqual(pets[0], pet) ? 'the same' : 'another'}`);
console.log((await client.getPet(2)).error?.code);
