/** Prints what lists in a query select, in the default serialization of openapi-fetch. Usage: `lists.js URL KEY`. */
import createClient from 'openapi-fetch';

const [baseUrl = '', key = ''] = process.argv.slice(2);
const client = createClient({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
for (const name of ['Ozzy', 'Rex', 'Mia']) await client.POST('/pets', { body: { name, categoryId: 1 } });
const pets = await client.GET('/pets', { params: { query: { id: [1, 3] } } });
console.log(pets.data.map(({ name }) => name).join());
const type = ['pet.created', 'category.*'];
const events = await client.GET('/events', { params: { query: { type } } });
console.log(events.data.length);
