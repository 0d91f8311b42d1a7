/** The operations clients call, as data: routes, OpenAPI document and the coverage of the tests derive from it. */
import type * as z from 'zod';
import type { ErrorCode } from './errors.ts';
import { ListPetsQuery, NewPet, Pet, Pets } from './pets.ts';

/** Majors are in the path (specification, section 9). */
export const basePath = '/v1';

export type Stability = 'stable' | 'beta' | 'experimental';

/** RFC 9745 and RFC 8594: when a deprecation was announced, when the operation goes, and what replaces it. */
export interface Deprecation {
  readonly announcedAt: Date;
  readonly sunset: Date;
  readonly successor: string;
}

export interface Operation {
  readonly operationId: OperationId;
  readonly method: 'GET' | 'POST';
  /** Below `basePath`; `{petId}` is the only path parameter there is. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly stability: Stability;
  readonly query?: z.ZodObject<z.ZodRawShape, z.core.$strict>;
  readonly body?: z.ZodType;
  readonly success: { readonly status: 200 | 201; readonly schema: z.ZodType; readonly description: string };
  readonly paginated?: true;
  readonly deprecation?: Deprecation;
  /** The errors of its own; every operation has `commonErrors` besides. */
  readonly errors: readonly ErrorCode[];
}

export type OperationId = 'listPets' | 'createPet' | 'getPet';

/** What any operation may answer. */
export const commonErrors = [
  'invalid_parameter',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'api_key_banned',
  'too_many_failed_authentications',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

const getPetSunset = new Date('2030-12-05T00:00:00Z');
const dateForm = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

export const operations: { readonly [Id in OperationId]: Operation & { readonly operationId: Id } } = {
  listPets: {
    operationId: 'listPets',
    method: 'GET',
    path: '/pets',
    summary: 'List animals',
    description:
      'Returns a page of animals by ascending id. The `Link` header (RFC 8288) has the URLs of the first and the next ' +
      'page; the last page has no `rel="next"`. Following the links returns each animal exactly once.',
    stability: 'stable',
    query: ListPetsQuery,
    success: { status: 200, schema: Pets, description: 'The page of animals.' },
    paginated: true,
    errors: ['invalid_cursor'],
  },
  createPet: {
    operationId: 'createPet',
    method: 'POST',
    path: '/pets',
    summary: 'Add an animal',
    description:
      'The animal is stored durably before the response is sent. `status` defaults to `available`.',
    stability: 'stable',
    body: NewPet,
    success: {
      status: 201,
      schema: Pet,
      description: 'The animal was added. The body contains its `id`.',
    },
    errors: ['invalid_json', 'invalid_body', 'body_too_large', 'unsupported_media_type'],
  },
  getPet: {
    operationId: 'getPet',
    method: 'GET',
    path: '/pets/{petId}',
    summary: 'Get an animal',
    description:
      'Deprecated: use `GET /pets` with the `status` filter. This operation returns 410 from ' +
      `${dateForm.format(getPetSunset)}.`,
    stability: 'stable',
    success: { status: 200, schema: Pet, description: 'The requested animal.' },
    deprecation: {
      announcedAt: new Date('2026-11-21T00:00:00Z'),
      sunset: getPetSunset,
      successor: '/pets',
    },
    errors: ['pet_not_found', 'operation_removed'],
  },
};

/** The methods that reach an operation: whatever answers GET answers HEAD, too (RFC 9110, section 9.3.2). */
export function methodsOf({ method }: Operation): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
