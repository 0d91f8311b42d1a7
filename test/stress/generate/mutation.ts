/** What mutations are made of: a refusal to expect, and a creation with another body. */
import type { Chance } from './chance.ts';
import type { HttpRequest } from './http.ts';
import { anyInt64, spelled } from './integers.ts';
import { anyName, jsonString } from './names.ts';
import { createPet, type Known, objectOf, statuses } from './requests.ts';

export interface InvalidRequest extends HttpRequest {
  readonly mutation: string;
  readonly status: number;
  readonly code: string;
  /** What the details have to name, as `in:name`; undefined when there need be none. */
  readonly faulty?: string;
}

export type Mutation = (chance: Chance, known: Known) => Omit<InvalidRequest, 'mutation'>;
export type Members = [string, string][];

export const refused = (status: number, code: string, faulty?: string) => ({
  status,
  code,
  ...(faulty && { faulty }),
});

/** A new animal whose members are changed before they are written down. */
export function mutatedPet(
  change: (members: Members, chance: Chance) => Members,
): (chance: Chance) => Uint8Array {
  return (chance) => {
    const members: Members = [
      ['name', jsonString(anyName(chance), chance)],
      ['categoryId', spelled(anyInt64(chance), chance)],
    ];
    if (chance.often(0.5)) members.push(['status', JSON.stringify(chance.pick(statuses))]);
    return Buffer.from(objectOf(chance, change(members, chance)));
  };
}

/** A creation whose body is another one; the rest stays valid. */
export function body(
  make: (chance: Chance) => Uint8Array,
  status: number,
  code: string,
  faulty?: string,
): Mutation {
  return (chance, known) => ({
    ...createPet(chance, known),
    body: make(chance),
    ...refused(status, code, faulty),
  });
}
