import { isInteger, parse, stringify } from 'lossless-json';
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-typescript.js';

type Schemas = components['schemas'];
/** Generators type every integer as `number`; these two can exceed 2^53. */
type Exact<Animal> = Omit<Animal, 'id' | 'categoryId'> & {
  readonly [Name in keyof Animal & ('id' | 'categoryId')]: bigint;
};
export type Pet = Exact<Schemas['Pet']>;
export type NewPet = Exact<Schemas['NewPet']>;

const exact = (text: string) => (isInteger(text) ? BigInt(text) : Number(text));

/** A client for the API at `baseUrl`, which ends in `/v1`. */
export function clientOf(baseUrl: string, key: string) {
  const client = createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    bodySerializer: (body) => stringify(body) ?? '',
  });
  return {
    async listPets(query: { limit?: number; status?: Schemas['PetStatus']; cursor?: string } = {}) {
      const { data, error, response } = await client.GET('/pets', { params: { query }, parseAs: 'text' });
      return {
        pets: data === undefined ? undefined : (parse(data, undefined, exact) as Pet[]),
        error,
        response,
      };
    },
    async createPet(pet: NewPet) {
      const body = pet as unknown as Schemas['NewPet'];
      const { data, error, response } = await client.POST('/pets', { body, parseAs: 'text' });
      return {
        pet: data === undefined ? undefined : (parse(data, undefined, exact) as Pet),
        error,
        response,
      };
    },
    async getPet(petId: number) {
      const { data, error, response } = await client.GET('/pets/{petId}', {
        params: { path: { petId } },
        parseAs: 'text',
      });
      return {
        pet: data === undefined ? undefined : (parse(data, undefined, exact) as Pet),
        error,
        response,
      };
    },
  };
}

/** Advice for an error. The compiler knows every code that `getPet` can return. */
export function explain(
  error: NonNullable<Awaited<ReturnType<ReturnType<typeof clientOf>['getPet']>>['error']>,
) {
  switch (error.code) {
    case 'pet_not_found':
    case 'operation_removed':
    case 'invalid_parameter':
      return 'fix the request';
    case 'missing_api_key':
    case 'invalid_api_key':
    case 'insufficient_scope':
      return 'check the API key';
    case 'rate_limit_exceeded':
    case 'daily_quota_exceeded':
    case 'api_key_banned':
    case 'too_many_failed_authentications':
    case 'service_unavailable':
      return 'wait for Retry-After';
    case 'internal_error':
      return 'report it with its request ID';
    default:
      return error satisfies never;
  }
}

// `status` is optional.
export const newPet: NewPet = { name: 'Ozzy', categoryId: 9_223_372_036_854_775_807n };
