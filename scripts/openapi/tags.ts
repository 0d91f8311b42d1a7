/** The chapters of the OpenAPI document: those that the operations name. */
import { allOperations } from '../../src/contract/operations.ts';

const descriptions: Readonly<Record<string, string>> = {
  Pets: 'Animals in the store.',
  Categories: 'Names for the categories of animals.',
  Orders: 'Orders for animals, from placed to delivered.',
  'Rate limits': "What is left of the account's limits.",
};

export const tags = [...new Set(allOperations.map(({ tag }) => tag))].map((name) => {
  const description = descriptions[name];
  if (description === undefined)
    throw new Error(`Add a description of the tag "${name}" to scripts/openapi/tags.ts.`);
  return { name, description };
});
