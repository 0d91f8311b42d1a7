import { GetInventoryQuery, Inventory, inventoryJson } from './inventory.ts';
import { created, mediaTypes, noContent, type Operation, ok, page } from './operation.ts';
import { ListPetsQuery, NewPet, Pet, PetId, PetPatch, Pets, petJson } from './pets.ts';

const getPetSunset = new Date('2030-12-05T00:00:00Z');
const dateForm = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const params = { petId: { schema: PetId, otherwise: 'pet_not_found' } } as const;

export const petOperations = {
  listPets: {
    operationId: 'listPets',
    method: 'GET',
    path: '/pets',
    tag: 'Pets',
    summary: 'List animals',
    description:
      'Returns a page of animals by ascending id. The `Link` header (RFC 8288) has the URLs of the first and the next ' +
      'page; the last page has no `rel="next"`. Following the links returns each animal exactly once. To read one ' +
      'animal, use `?id=7`.',
    stability: 'stable',
    query: ListPetsQuery,
    scope: 'pets:read',
    reads: ['pets'],
    paginated: true,
    success: page(Pets, petJson, 'The page of animals.'),
    errors: [],
  },
  createPet: {
    operationId: 'createPet',
    method: 'POST',
    path: '/pets',
    tag: 'Pets',
    summary: 'Add an animal',
    description:
      'The animal is stored durably before the response is sent. `status` defaults to `available`.',
    stability: 'stable',
    body: { schema: NewPet },
    scope: 'pets:create',
    reads: [],
    success: created(
      Pet,
      petJson,
      ({ id }) => `/pets/${id}`,
      'The animal was added. The body contains its `id`.',
    ),
    errors: [],
  },
  getPet: {
    operationId: 'getPet',
    method: 'GET',
    path: '/pets/{petId}',
    tag: 'Pets',
    summary: 'Get an animal',
    description:
      'Deprecated: use `GET /pets` with the `status` filter, or `GET /pets?id=7` for one animal. This operation ' +
      `returns 410 from ${dateForm.format(getPetSunset)}.`,
    stability: 'stable',
    params,
    scope: 'pets:read',
    reads: ['pets'],
    success: ok(Pet, petJson, 'The requested animal.'),
    deprecation: {
      announcedAt: new Date('2026-11-21T00:00:00Z'),
      sunset: getPetSunset,
      successor: '/pets',
    },
    errors: ['pet_not_found'],
  },
  updatePet: {
    operationId: 'updatePet',
    method: 'PATCH',
    path: '/pets/{petId}',
    tag: 'Pets',
    summary: 'Change an animal',
    description:
      'Changes the members that the body has, as a JSON merge patch (RFC 7396), and returns the animal. An empty ' +
      'object changes nothing. The status can change from `available` to `pending` or `sold`, from `pending` to ' +
      '`available` or `sold`, and from `sold` to `available`; not while an open order holds the animal.',
    stability: 'beta',
    params,
    body: { schema: PetPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
    scope: 'pets:write',
    readScope: 'pets:read',
    reads: [],
    preconditions: ['If-Match'],
    success: ok(Pet, petJson, 'The animal as it is now.'),
    errors: ['pet_not_found', 'status_transition_not_allowed', 'pet_reserved'],
  },
  deletePet: {
    operationId: 'deletePet',
    method: 'DELETE',
    path: '/pets/{petId}',
    tag: 'Pets',
    summary: 'Remove an animal',
    description: 'Removes the animal, unless an open order holds it. Its id is never used again.',
    stability: 'beta',
    params,
    scope: 'pets:write',
    reads: [],
    preconditions: ['If-Match'],
    success: noContent('The animal was removed.'),
    errors: ['pet_not_found', 'pet_reserved'],
  },
  getInventory: {
    operationId: 'getInventory',
    method: 'GET',
    path: '/inventory',
    tag: 'Pets',
    summary: 'Count animals by status',
    description:
      'Returns how many animals there are in each status, exactly, in the whole store or in one category.',
    stability: 'beta',
    query: GetInventoryQuery,
    scope: 'pets:read',
    reads: ['pets'],
    success: ok(Inventory, inventoryJson, 'The numbers of animals.'),
    errors: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;
