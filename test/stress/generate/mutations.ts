/** Valid requests with exactly one thing wrong, and the refusal each has to get. */

import type { Chance } from './chance.ts';
import { absentMutations, changeMutations } from './change-mutations.ts';
import { headMutations } from './head-mutations.ts';
import { incidental } from './http.ts';
import { memberMutations } from './member-mutations.ts';
import type { InvalidRequest, Mutation } from './mutation.ts';
import { operationMutations } from './operation-mutations.ts';
import { queryMutations } from './query-mutations.ts';
import type { Known } from './requests.ts';
import { textMutations } from './text-mutations.ts';

const mutations: Readonly<Record<string, Mutation>> = {
  ...memberMutations,
  ...textMutations,
  ...queryMutations,
  ...headMutations,
  ...operationMutations,
  ...changeMutations,
  ...absentMutations,
};
const names = Object.keys(mutations);

export function invalidRequest(chance: Chance, known: Known): InvalidRequest {
  const mutation = chance.pick(names);
  const request = (mutations[mutation] as Mutation)(chance, known);
  return {
    ...request,
    mutation,
    headers: [...request.headers, ...(chance.often(0.05) ? incidental(chance).slice(0, 1) : [])],
  };
}
