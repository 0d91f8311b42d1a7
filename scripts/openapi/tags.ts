/** The chapters of the OpenAPI documents: those that their operations name. */
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { allOperations } from '../../src/contract/operations.ts';

const descriptions: Readonly<Record<string, string>> = {
  Pets: 'Animals in the store.',
  Categories: 'Names for the categories of animals.',
  Orders: 'Orders for animals, from placed to delivered.',
  'Rate limits': "What is left of the account's limits.",
  Sessions: 'Signing in and out of the console.',
  Operators: 'Those who run the service, and their tokens.',
  Accounts: 'Who is counted, and by which plan.',
  Keys: 'The API keys of accounts.',
  Bans: 'Keys that are banned for a while.',
  Usage: 'Who made how many requests.',
  Audit: 'What operators changed.',
  System: 'How the service is doing, and how it is set.',
  Backups: 'Copies of the store.',
};

export const tags = tagsOf(allOperations);
export const adminTags = tagsOf(allAdminOperations);

function tagsOf(rows: readonly Operation[]) {
  return [...new Set(rows.map(({ tag }) => tag))].map((name) => {
    const description = descriptions[name];
    if (description === undefined)
      throw new Error(`Add a description of the tag "${name}" to scripts/openapi/tags.ts.`);
    return { name, description };
  });
}
