/** Formats information about the store. Fields without a label are shown with their API names. */

import { factLabel, formatFact } from '../src/domain/format-fact.ts';
import type { AnswerOf } from './contract.ts';
import { spaced } from './words.ts';

type Facts = AnswerOf<'GET /system'>['store'];

/** Returns labels with formatted values. Omits fields that have no value. */
export function factsInWords(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([, fact]) => fact !== null)
    .map(([name, fact]) => [factLabel(name) ?? spaced(name), formatFact(name, fact ?? '')]);
}
