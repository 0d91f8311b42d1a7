import { afterAll, expect, test } from 'bun:test';
import pino from 'pino';
import { answersOf } from '../../src/http/answers.ts';
import { FinishedAnswers } from '../../src/http/finished-answers.ts';
import type { House, Incoming } from '../../src/http/house.ts';
import { pipeline } from '../../src/http/pipeline.ts';
import { routesOf } from '../../src/http/routes.ts';
import { AdmissionOperations } from '../../src/operations/admission.ts';
import { PetOperations } from '../../src/operations/pets.ts';
import { startTestApp } from '../support/app.ts';
import { addPets } from '../support/pets.ts';

const app = await startTestApp();
await addPets(app, 3);
afterAll(() => app[Symbol.asyncDispose]());

let made = 0;
const { storage } = app.app.office;
const answers = answersOf(new PetOperations(storage.pets), undefined);
const house: House = {
  admission: new AdmissionOperations(storage.keys, storage.limits, app.clock),
  answers: {
    ...answers,
    listPets: (input) => {
      made++;
      return answers.listPets(input);
    },
  },
  finished: new FinishedAnswers(),
  clock: app.clock,
  corsOrigins: new Set(),
  log: pino({ level: 'silent' }),
  makeRequestId: () => 'made',
  isDraining: () => false,
};
const route = routesOf(undefined, Infinity).find(({ path }) => path === '/v1/pets');

/** Asks for a page as the server does, and returns how many pages had to be made for it. */
async function makes(url: string): Promise<number> {
  const before = made;
  const request = new Request(url, { headers: { Authorization: `Bearer ${app.key}` } });
  const incoming: Incoming = {
    request,
    route,
    routed: route?.methods.get('GET'),
    petId: '',
    requestId: 'sent',
    network: () => '192.0.2.1',
  };
  expect((await pipeline(house, incoming)).status).toBe(200);
  return made - before;
}

test('a page is held once, whatever Host the requests for it name', async () => {
  expect(await makes('http://animals.example/v1/pets?limit=2')).toBe(1);
  const others = ['a', 'ANIMALS.example', 'animals.example:8080', '192.0.2.1:3000', '[2001:db8::1]'];
  for (const host of others) expect(await makes(`http://${host}/v1/pets?limit=2`)).toBe(0);
  expect(await makes('https://animals.example/v1/pets?limit=2')).toBe(0);
});

test('pages of other queries are others', async () => {
  for (const query of ['', '?limit=3', '?limit=2&status=sold', '?status=sold&limit=2']) {
    expect(await makes(`http://animals.example/v1/pets${query}`)).toBe(1);
    expect(await makes(`http://other.example/v1/pets${query}`)).toBe(0);
  }
});

test('a page is made anew when the catalogue has changed', async () => {
  await addPets(app, 1);
  expect(await makes('http://animals.example/v1/pets?limit=2')).toBe(1);
});
