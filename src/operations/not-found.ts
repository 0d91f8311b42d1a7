import { Refusal } from '../domain/refusal.ts';

/** What operators name by a number, by the code that says that there is none. */
const nouns = {
  account_not_found: 'account',
  key_not_found: 'key',
  operator_not_found: 'operator',
  ban_not_found: 'ban on key',
} as const;

/** The refusal of a request of an operator for something that is not there. */
export function notFound(code: keyof typeof nouns, id: number): Refusal {
  return new Refusal(code, { message: `There is no ${nouns[code]} ${id}.` });
}
