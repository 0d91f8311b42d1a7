/** Compares the service's JSON parser with an independent reader, on texts at the limits of the fast parser. */
import { parseJson } from '../../src/contract/json.ts';
import { outcomeOf, readByGrammar } from '../support/json-grammar.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { anyText, texts } from './json-texts.ts';
import type { StressOptions, StressTest } from './stress-test.ts';

const progressEvery = 100_000;

/** `rounds` is the number of random texts. Variants of the bodies precede them. */
export async function jsonTexts({ rounds, seed, progress }: StressOptions) {
  const failures = new Failures(seed);
  const seen = { texts: 0, read: 0, 'with mistakes': 0, refused: 0 };
  const compare = (index: number | string, text: string) => {
    const expected = outcomeOf(readByGrammar, text);
    try {
      same(`what is read of ${JSON.stringify(text)}`, outcomeOf(parseJson, text), expected);
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
  promise: 'a JSON text means to the service what its grammar says, or is refused',
  rounds: 5_000_000,
  run: jsonTexts,
};
