/** Requests wrong before their body: credential, path, method, media type. */
import type { Chance } from './chance.ts';
import type { HttpRequest } from './http.ts';
import { type Mutation, refused } from './mutation.ts';
import { anyRequest } from './operation-mutations.ts';
import { createPet, listPets } from './requests.ts';

const withoutHeader = ({ headers }: HttpRequest, name: string) =>
  headers.filter(([other]) => other.toLowerCase() !== name);

const wrongTypes = [
  'text/plain',
  'application/jsonp',
  'application/json+x',
  'application/xml',
  'application/json; charset=latin1',
  'application/json;charset=utf-16',
  'json',
  'application/json, text/plain',
  '*/*',
  'application/x-www-form-urlencoded',
  'application/json charset=utf-8',
];
const wrongPaths = [
  '/',
  '',
  '/pet',
  '/Pets',
  '/pets/',
  '/pets/1/',
  '/pets/1/2',
  '//pets',
  '/pets//1',
  '/pets%2F1',
  '/%70ets',
  '/v1/pets',
  '/order',
  '/orders/1/refuse',
  '/categories/',
  '/inventory/1',
  '/pets.json',
  '/pets;a=1',
  '/../v1/pets',
  '/pets/../pets/1',
  '/./pets',
];

export const headMutations: Readonly<Record<string, Mutation>> = {
  'credential missing': (chance, known) => {
    const request = anyRequest(chance, known);
    const empty: [string, string][] = chance.often(0.2) ? [['Authorization', '']] : [];
    const headers = [...withoutHeader(request, 'authorization'), ...empty];
    return { ...request, headers, ...refused(401, 'missing_api_key') };
  },
  'credential wrong': (chance, known) => {
    const request = anyRequest(chance, known);
    const wrong: [string, string] = ['Authorization', brokenCredential(known.key, chance)];
    const headers = [...withoutHeader(request, 'authorization'), wrong];
    return { ...request, headers, ...refused(401, 'invalid_api_key') };
  },
  'credential twice': (chance, known) => {
    const request = anyRequest(chance, known);
    const headers = [...request.headers, ['Authorization', `Bearer ${known.key}`] as const];
    return { ...request, headers, ...refused(401, 'invalid_api_key') };
  },
  'path unknown': (chance, known) => ({
    ...listPets(chance, known),
    target: chance.pick(wrongPaths),
    ...refused(404, 'route_not_found'),
  }),
  'method not allowed': (chance, known) => ({
    ...listPets(chance, known),
    method: chance.pick(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']),
    ...refused(405, 'method_not_allowed'),
  }),
  'media type missing': (chance, known) => {
    const request = createPet(chance, known);
    return {
      ...request,
      headers: withoutHeader(request, 'content-type'),
      ...refused(415, 'unsupported_media_type'),
    };
  },
  'media type wrong': (chance, known) => {
    const request = createPet(chance, known);
    const wrong: [string, string] = ['Content-Type', chance.pick(wrongTypes)];
    const headers = [...withoutHeader(request, 'content-type'), wrong];
    return { ...request, headers, ...refused(415, 'unsupported_media_type') };
  },
};

function brokenCredential(key: string, chance: Chance): string {
  const at = chance.int(4, key.length - 1);
  const other = chance.pick([...'0Az9'].filter((character) => character !== key[at]));
  const typo = key.slice(0, at) + other + key.slice(at + 1);
  const forms = [
    `Bearer ${typo}`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key} ${key}`,
    `Basic ${key}`,
    key,
    `Bearer`,
    `Bearer:${key}`,
    `Token ${key}`,
    `Bearer "${key}"`,
    `Bearer ${key},`,
    `Bearer\t${key}`,
    `Bearer ${key.toUpperCase()}`,
    `BearerBearer ${key}`,
    `Bearer ${'a'.repeat(3_000)}`,
  ];
  return chance.pick(forms);
}
