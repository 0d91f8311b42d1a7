/** Compares the service's JSON parser with an independent parser, on edge cases of the fast parser. */
import { parseJson } from '../../src/contract/json.ts';
import { outcomeOf, readByGrammar } from '../support/json-grammar.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { anyText, texts } from './json-texts.ts';
import type { StressOptions, StressTest } from './stress-test.ts';

const progressEvery = 100_000;

/** `rounds` is the number of random texts. All single-character variants of the bodies are tested first. */
export async function jsonTexts({ rounds, seed, progress }: StressOptions) {
  const failures = new Failures(seed);
  const seen = { texts: 0, read: 0, 'with mistakes': 0, refused: 0 };
  const compare = (index: number | string, text: string) => {
    const expected = outcomeOf(readByGrammar, text);
    try {
      same(`the value parsed from ${JSON.stringify(text)}`, outcomeOf(parseJson, text), expected);
    } catch (error) {
      failures.add(index, (error as Error).message);
    }
    seen.texts++;
    seen[expected === 'refused' ? 'refused' : expected.startsWith('mistakes') ? 'with mistakes' : 'read']++;
  };
  for (const text of texts()) compare('of a body', text);
  for (let index = 0; index < rounds; index++) {
    if (index % progressEvery === 0) progress(`${index} of ${rounds} texts`);
    compare(index, anyText(new Chance(seed, index)));
  }
  failures.end();
  return seen;
}

export const json: StressTest = {
  name: 'json',
  promise: 'the service parses every JSON text as the grammar requires, or rejects it',
  rounds: 5_000_000,
  run: jsonTexts,
};
