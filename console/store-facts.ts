/** Labels facts about the store. Unknown facts are labeled with their API names. */

import { factName, factText } from '../src/domain/store-facts.ts';
import type { AnswerOf } from './contract.ts';
import { spaced } from './words.ts';

type Facts = AnswerOf<'GET /system'>['store'];

/** Converts facts to labels and formatted values. Omits facts that have no value. */
export function factsInWords(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([, fact]) => fact !== null)
    .map(([name, fact]) => [factName(name) ?? spaced(name), factText(name, fact ?? '')]);
}
