/** The loads every contender is put under. */
import { animal, chances } from './animals.ts';
import { type Addressing, get, post } from './contender.ts';
import type { PlannedRequest } from './load.ts';

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** The status of its answers, the first one aside. */
  readonly status: number;
  /** Where it may not last as long as the others. */
  readonly seconds?: number;
  /** The requests of one run, in turn; undefined where a contender cannot do this. */
  plan(addressing: Addressing, animals: number): PlannedRequest[] | undefined;
}

/** Different requests in one plan. */
const planLength = 20_000;

/** Of a hundred mixed requests: 90 lists, 9 animals by id, 1 creation. */
const mixedParts = { list: 0.9, listOrPet: 0.99 } as const;

const newPet = (index: number) => {
  const { name, categoryId, status } = animal(index);
  return `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
};

export const scenarios: readonly Scenario[] = [
  {
    name: 'list',
    title: 'List page (limit=20&status=available)',
    status: 200,
    plan: ({ list }) => [get(list)],
  },
  {
    name: 'pet',
    title: 'One animal by id, any of them',
    status: 200,
    plan: ({ pet }, animals) => {
      const chance = chances(1);
      return Array.from({ length: planLength }, () => get(pet(1 + Math.floor(chance() * animals))));
    },
  },
  {
    name: 'create',
    title: 'POST, durable',
    status: 201,
    plan: ({ create }) => Array.from({ length: planLength }, (_, index) => post(create, newPet(index))),
  },
  {
    name: 'refused',
    title: 'Refused request (429)',
    status: 429,
    // The service counts strikes against keys that go on for longer; that is the next scenario.
    seconds: 1,
    plan: ({ refused }) => refused && [get(refused())],
  },
  {
    name: 'banned',
    title: 'Refused request of a banned key (429)',
    status: 429,
    plan: ({ banned }) => banned && [get(banned)],
  },
  {
    name: 'mixed',
    title: 'Mixed: 90 % list, 9 % by id, 1 % POST',
    status: 200,
    plan: ({ list, pet, create }, animals) => {
      const chance = chances(2);
      return Array.from({ length: planLength }, (_, index) => {
        const part = chance();
        if (part < mixedParts.list) return get(list);
        if (part < mixedParts.listOrPet) return get(pet(1 + Math.floor(chance() * animals)));
        return post(create, newPet(index));
      });
    },
  },
];
