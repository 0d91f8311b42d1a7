/** Generated requests that the contract allows, and what each has to be answered. */
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from './chance.ts';
import { authorization, encoded, type HttpRequest, incidental } from './http.ts';
import { anyInt64, spelled } from './integers.ts';
import { anyName, jsonString } from './names.ts';

export const statuses = ['available', 'pending', 'sold'] as const;

/** An animal as it was sent, and as it has to come back. */
export interface SentPet {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: string;
}

export function petText(id: bigint, { name, categoryId, status }: SentPet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

export interface ValidRequest extends HttpRequest {
  readonly operationId: keyof typeof generators;
  readonly status: 200 | 201 | 404;
  /** What a creation has to answer. */
  readonly pet?: SentPet;
  /** The id a getPet asks for. */
  readonly petId?: bigint;
  /** What a list has to keep to. */
  readonly list?: { readonly limit: number; readonly status: string | undefined };
  /** The X-Request-Id that has to be echoed. */
  readonly ownId?: string;
}

/** What is known of the running service. */
export interface Known {
  readonly key: string;
  /** A key that may do nothing. */
  readonly poorKey: string;
  /** Ids from 1 to this are stored. */
  readonly stored: number;
  /** Cursors taken from links, with the filter they were made for. */
  readonly cursors: readonly { readonly status: string | undefined; readonly cursor: string }[];
}

type Generator = (chance: Chance, known: Known) => ValidRequest;

/** What makes requests of each operation, and how often it is asked to. */
export const generators = {
  createPet: { weight: 4, make: createPet },
  listPets: { weight: 3, make: listPets },
  getPet: { weight: 3, make: getPet },
} as const satisfies Partial<Record<OperationId, { readonly weight: number; readonly make: Generator }>>;

const drawn: readonly Generator[] = Object.values(generators).flatMap(({ weight, make }) =>
  Array<Generator>(weight).fill(make),
);

export function validRequest(chance: Chance, known: Known): ValidRequest {
  return chance.pick(drawn)(chance, known);
}

export function createPet(chance: Chance, known: Known): ValidRequest {
  const pet: SentPet = { name: anyName(chance), categoryId: anyInt64(chance), status: chance.pick(statuses) };
  const status = chance.often(0.2) ? undefined : pet.status;
  const body = Buffer.from(newPetJson(chance, { ...pet, status }));
  const { headers, ownId } = head(chance, known);
  const chunks = chance.often(0.15) ? [chance.int(1, 40), chance.int(1, 400)] : undefined;
  const type = chance.pick(mediaTypes);
  return {
    operationId: 'createPet',
    method: 'POST',
    target: '/pets',
    headers: chance.shuffled([...headers, ['Content-Type', type] as const]),
    body,
    ...(chunks && { chunks }),
    status: 201,
    pet: { ...pet, status: status ?? 'available' },
    ...(ownId && { ownId }),
  };
}

const mediaTypes = [
  'application/json',
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json ; profile="x"',
];

const space = ['', '', '', ' ', '\n', '\t', '\r\n  '];

/** A new animal as JSON, in any order of its members and with any white space between. */
export function newPetJson(
  chance: Chance,
  pet: { name: string; categoryId: bigint; status: string | undefined },
): string {
  const members: [string, string][] = [
    ['name', jsonString(pet.name, chance)],
    ['categoryId', spelled(pet.categoryId, chance)],
  ];
  if (pet.status !== undefined) members.push(['status', jsonString(pet.status, chance)]);
  return objectOf(chance, members);
}

export function objectOf(chance: Chance, members: readonly (readonly [string, string])[]): string {
  const gap = () => chance.pick(space);
  const written = chance
    .shuffled(members)
    .map(([name, value]) => `${gap()}${jsonString(name, chance)}${gap()}:${gap()}${value}${gap()}`);
  return `${gap()}{${written.join(',')}}${gap()}`;
}

export function listPets(chance: Chance, known: Known): ValidRequest {
  const page = chance.often(0.4) && known.cursors.length > 0 ? chance.pick(known.cursors) : undefined;
  const status = page !== undefined ? page.status : chance.often(0.5) ? chance.pick(statuses) : undefined;
  const limit = chance.often(0.2) ? undefined : chance.often(0.1) ? chance.int(1, 100) : chance.int(1, 12);
  const parameters: [string, string][] = [];
  if (limit !== undefined) parameters.push(['limit', String(limit)]);
  if (status !== undefined) parameters.push(['status', status]);
  if (page !== undefined) parameters.push(['cursor', page.cursor]);
  const query = chance
    .shuffled(parameters)
    .map(([name, value]) => `${encoded(name, chance)}=${encoded(value, chance)}`)
    .join(chance.pick(['&', '&', '&&']));
  const { headers, ownId } = head(chance, known);
  return {
    operationId: 'listPets',
    method: chance.often(0.1) ? 'HEAD' : 'GET',
    target: `/pets${query === '' ? chance.pick(['', '?']) : `?${query}`}`,
    headers,
    status: 200,
    list: { limit: limit ?? 20, status },
    ...(ownId && { ownId }),
  };
}

export function getPet(chance: Chance, known: Known): ValidRequest {
  const isStored = chance.often(0.8);
  const petId = isStored ? BigInt(chance.int(1, known.stored)) : absentId(chance);
  const { headers, ownId } = head(chance, known);
  return {
    operationId: 'getPet',
    method: chance.often(0.1) ? 'HEAD' : 'GET',
    target: `/pets/${isStored ? encoded(String(petId), chance) : petId}`,
    headers,
    status: isStored ? 200 : 404,
    petId,
    ...(ownId && { ownId }),
  };
}

/** No id of this size is given out in a stress test. */
function absentId(chance: Chance): bigint {
  const far = anyInt64(chance);
  return far > 0n && far < 2n ** 40n ? -far : far;
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-';

export function head(
  chance: Chance,
  { key }: Known,
): { headers: [string, string][]; ownId: string | undefined } {
  const headers: [string, string][] = [authorization(key, chance), ...incidental(chance)];
  if (!chance.often(0.3)) return { headers, ownId: undefined };
  const length = chance.pick([1, 8, 63, 64]);
  const ownId = Array.from({ length }, () => chance.pick([...idCharacters])).join('');
  return { headers: chance.shuffled([...headers, ['X-Request-Id', ownId]]), ownId };
}
