/** Loads that are applied to every contender. */
import type { PlanName } from '../src/domain/plan.ts';
import { randomFrom } from '../test/support/random.ts';
import { animal } from './animals.ts';
import { type Addressing, type Callers, get, patch, post } from './contender.ts';
import type { LoadSettings, PlannedRequest } from './load.ts';

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Expected status of all responses except the first. */
  readonly status: number;
  /** Duration, for scenarios that must be shorter than the others. */
  readonly seconds?: number;
  /** Callers of the list page in scenarios that compare plans. */
  readonly callers?: Callers;
  readonly pressure?: LoadSettings;
  /** Concurrent load from another client, whose responses are not part of the result. */
  readonly beside?: Beside;
  /** Returns the requests of a run in order; undefined if the contender does not support the scenario. */
  plan(load: PlanOptions): PlannedRequest[] | undefined | Promise<PlannedRequest[] | undefined>;
}

export interface Beside {
  readonly pressure: LoadSettings;
  plan(load: PlanOptions): PlannedRequest[];
}

export interface PlanOptions {
  readonly addressing: Addressing;
  readonly animals: number;
  /** Duration of the run. */
  readonly seconds: number;
}

/** Number of different requests in one plan. */
const planLength = 20_000;
/** Number in plans of pages: more than the page cache remembers until a page is requested again. */
const pagePlanLength = 100_000;

/** Mixed load: 90% list requests, 9% requests by id and 1% create requests. These fractions are cumulative. */
const mixedParts = { list: 0.9, listOrPet: 0.99 } as const;

/** Assigns keys to the requests in turn, and repeats the requests until all keys have been used. */
async function called(
  requests: readonly PlannedRequest[],
  { addressing, seconds }: PlanOptions,
  who: Callers = 'free and pro',
): Promise<PlannedRequest[]> {
  const keys = await addressing.callers?.(who, seconds);
  if (keys === undefined) return [...requests];
  const length = Math.ceil(requests.length / keys.length) * keys.length;
  return Array.from({ length }, (_, index) => {
    const request = requests[index % requests.length] as PlannedRequest;
    return { ...request, key: keys[index % keys.length] ?? request.key };
  });
}

/** Returns the body of a request that creates an animal. */
export const newPet = (index: number) => {
  const { name, categoryId, status } = animal(index);
  return `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
};

export const scenarios: readonly Scenario[] = [
  pages('pages', 'Another page each time (limit=20&minId=<random>)', false),
  pages('pages-status', 'Another page each time, by status', true),
  {
    name: 'list',
    title: 'The same page (limit=20&status=available)',
    status: 200,
    plan: (load) => called([get(load.addressing.list)], load),
  },
  {
    name: 'pet',
    title: 'Random animal by id',
    status: 200,
    plan: (load) =>
      called(
        randomly(load, 1, (id) => get(load.addressing.pet(id))),
        load,
      ),
  },
  {
    name: 'pet-in-list',
    title: 'Random animal by ?id=',
    status: 200,
    plan: (load) => {
      const { petInList } = load.addressing;
      return (
        petInList &&
        called(
          randomly(load, 5, (id) => get(petInList(id))),
          load,
        )
      );
    },
  },
  {
    name: 'create',
    title: 'POST, durable',
    status: 201,
    plan: (load) => {
      const one = (_: unknown, index: number) => post(load.addressing.create, newPet(index));
      return called(Array.from({ length: planLength }, one), load);
    },
  },
  {
    name: 'update',
    title: 'PATCH, durable',
    status: 200,
    plan: (load) => {
      const { update } = load.addressing;
      if (update === undefined) return undefined;
      const chance = randomFrom(4);
      const ids = Array.from({ length: planLength / 2 }, () => 1 + Math.floor(chance() * load.animals));
      // Both halves update the same animals, but set different names, so that every request makes a change.
      const requests = [...ids, ...ids].map((id, index) => patch(update(id), `{"name":"Ozzy ${index}"}`));
      return called(requests, load);
    },
  },
  {
    name: 'order',
    title: 'Placing an order, durable',
    status: 201,
    // Each animal can be ordered once. The orders are canceled before the next run.
    seconds: 2,
    plan: async (load) => {
      const { order } = load.addressing;
      if (order === undefined) return undefined;
      const petIds = await order.orderable();
      return called(
        petIds.map((petId) => post(order, `{"petId":${petId}}`)),
        load,
      );
    },
  },
  {
    name: 'refused',
    title: 'Rate-limited request (429)',
    status: 429,
    // A longer run would cause strikes and a ban, which the next scenario measures.
    seconds: 1,
    plan: ({ addressing: { refused } }) => refused && [get(refused())],
  },
  {
    name: 'banned',
    title: 'Request with a banned key (429)',
    status: 429,
    plan: ({ addressing: { banned } }) => banned && [get(banned)],
  },
  {
    name: 'mixed',
    title: 'Mixed: 90 % list, 9 % by id, 1 % POST',
    status: 200,
    plan: (load) => {
      const { list, pet, create } = load.addressing;
      const chance = randomFrom(2);
      const requests = Array.from({ length: planLength }, (_, index) => {
        const part = chance();
        if (part < mixedParts.list) return get(list);
        if (part < mixedParts.listOrPet) return get(pet(1 + Math.floor(chance() * load.animals)));
        return post(create, newPet(index));
      });
      return called(requests, load);
    },
  },
  ...(['free', 'pro', 'business', 'enterprise'] as const).map(listOf),
];

export function titleOf(scenario: string): string {
  return scenarios.find(({ name }) => name === scenario)?.title ?? scenario;
}

/** Returns requests for random animals. */
function randomly(
  { animals }: PlanOptions,
  seed: number,
  requestOf: (id: number) => PlannedRequest,
  length = planLength,
): PlannedRequest[] {
  const chance = randomFrom(seed);
  return Array.from({ length }, () => requestOf(1 + Math.floor(chance() * animals)));
}

/** Returns a scenario in which each request reads a different page, like clients that follow links or search. */
function pages(name: string, title: string, isAvailable: boolean): Scenario {
  return {
    name,
    title,
    status: 200,
    plan: (load) => {
      const { page } = load.addressing;
      return (
        page &&
        called(
          randomly(load, 3, (id) => get(page(id, isAvailable)), pagePlanLength),
          load,
        )
      );
    },
  };
}

/** Returns a scenario in which accounts of one plan request the list page. */
function listOf(plan: PlanName): Scenario {
  return {
    name: `list-${plan}`,
    title: `List page for accounts on the ${plan} plan`,
    status: 200,
    callers: plan,
    plan: (load) =>
      load.addressing.callers === undefined ? undefined : called([get(load.addressing.list)], load, plan),
  };
}
