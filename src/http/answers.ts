import { parseInt64 } from '../contract/json.ts';
import { basePath, type OperationId } from '../contract/operations.ts';
import { type ListPetsQuery, type NewPet, petJson } from '../contract/schemas.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import type { PetOperations, PetPage } from '../operations/pets.ts';
import type { SuccessFields } from './headers.ts';
import type { Input } from './input.ts';

/** What an operation answers, before the headers every answer carries. */
export interface Answer {
  readonly status: number;
  readonly body: string | Blob;
  readonly headers?: SuccessFields;
}

export type Answers = { readonly [Id in OperationId]: (input: Input) => Awaitable<Answer> };

/** Each operation as HTTP: checked input in, text out. `publicUrl` makes links absolute. */
export function answersOf(pets: PetOperations, publicUrl: string | undefined): Answers {
  const petsUrl = `${publicUrl ?? ''}${basePath}/pets`;
  return {
    listPets(input) {
      const query = input.query as ListPetsQuery;
      return andThen(pets.listPets(query), (page) => ({
        status: 200,
        body: `[${page.pets.map(petJson).join(',')}]`,
        headers: { Link: linksOf(petsUrl, query, page) },
      }));
    },

    async createPet({ body }) {
      return { status: 201, body: petJson(await pets.createPet(body as NewPet)) };
    },

    getPet({ petId }) {
      return andThen(pets.getPet(parseInt64(petId)), (pet) => ({ status: 200, body: petJson(pet) }));
    },
  };
}

/** Links to the first and the next page (RFC 8288), with the filters of this one. */
function linksOf(petsUrl: string, { limit, status }: ListPetsQuery, { next }: PetPage): string {
  const first = `${petsUrl}?limit=${limit}${status === undefined ? '' : `&status=${status}`}`;
  const links = `<${first}>; rel="first"`;
  return next === undefined ? links : `<${first}&cursor=${next}>; rel="next", ${links}`;
}
