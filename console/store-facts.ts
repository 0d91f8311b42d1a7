/** Facts of a store in words. Those of a newer service are shown by their names in the API. */

import { factNames, factText } from '../src/domain/store-facts.ts';
import type { AnswerOf } from './contract.ts';
import { spaced } from './words.ts';

type Facts = AnswerOf<'GET /system'>['store'];

/** Names with values, as people read them; what is not there is left out. */
export function factsInWords(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([, fact]) => fact !== null)
    .map(([name, fact]) => [factNames[name] ?? spaced(name), factText(name, fact ?? '')]);
}
