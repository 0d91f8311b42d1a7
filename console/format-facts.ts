/** Formats information about the store. Fields without a label are shown with their API names. */

import { factLabel, formatFact } from '../src/domain/format-fact.ts';
import type { ResponseOf } from './contract.ts';
import { splitCamelCase } from './labels.ts';

type Facts = ResponseOf<'GET /system'>['store'];

/** Returns labels with formatted values. Omits fields that have no value. */
export function formatFacts(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([, fact]) => fact !== null)
    .map(([name, fact]) => [factLabel(name) ?? splitCamelCase(name), formatFact(name, fact ?? '')]);
}
