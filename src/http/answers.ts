import { LRUCache } from 'lru-cache';
import { parseInt64 } from '../contract/json.ts';
import { basePath, type OperationId } from '../contract/operations.ts';
import { type ListPetsQuery, type NewPet, petJson } from '../contract/schemas.ts';
import type { PetOperations, PetPage } from '../operations/pets.ts';
import type { HeaderFields } from './headers.ts';
import type { Input } from './input.ts';

/** What an operation answers, before the headers every answer carries. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: HeaderFields;
}

/** One call of an operation. */
export interface Call extends Input {
  readonly petId: string | undefined;
  /** The catalogue's version when the request was judged. */
  readonly petsVersion: number;
}

export type Answers = { readonly [Id in OperationId]: (call: Call) => Promise<Answer> };

interface CachedPage {
  readonly version: number;
  readonly answer: Answer;
}

/** Bound of the finished pages held in memory, in UTF-16 units. */
const heldPagesSize = 8_388_608;

/** Each operation as HTTP: arguments in, text out. `publicUrl` makes links absolute. */
export function answersOf(pets: PetOperations, publicUrl: string | undefined): Answers {
  const pages = new LRUCache<string, CachedPage>({
    maxSize: heldPagesSize,
    sizeCalculation: ({ answer }) => answer.body.length + 512,
  });
  const petsUrl = `${publicUrl ?? ''}${basePath}/pets`;

  return {
    async listPets({ query, petsVersion }) {
      const { limit, status, cursor } = query as ListPetsQuery;
      const key = `${limit} ${status} ${cursor}`;
      const held = pages.get(key);
      if (held?.version === petsVersion) return held.answer;
      const page = await pets.listPets(query as ListPetsQuery);
      const link = linksOf(petsUrl, query as ListPetsQuery, page);
      const answer = { status: 200, body: `[${page.pets.map(petJson).join(',')}]`, headers: { Link: link } };
      pages.set(key, { version: petsVersion, answer });
      return answer;
    },

    async createPet({ body }) {
      return { status: 201, body: petJson(await pets.createPet(body as NewPet)) };
    },

    async getPet({ petId = '' }) {
      return { status: 200, body: petJson(await pets.getPet(parseInt64(petId))) };
    },
  };
}

/** Links to the first and the next page (RFC 8288), with the filters of this one. */
function linksOf(petsUrl: string, { limit, status }: ListPetsQuery, { next }: PetPage): string {
  const first = `${petsUrl}?limit=${limit}${status === undefined ? '' : `&status=${status}`}`;
  const links = `<${first}>; rel="first"`;
  return next === undefined ? links : `<${first}&cursor=${next}>; rel="next", ${links}`;
}
