import { resources as stored } from '../../domain/resources.ts';

const sentences: Readonly<Record<string, string>> = {
  accounts: 'Manage accounts and their plans.',
  keys: 'Manage API keys.',
  limits: 'Show the rate limit usage of accounts.',
  bans: 'Manage temporary bans of keys that kept sending requests after 429.',
  operators: 'Manage operators, who sign in to the admin API and the console.',
  pets: 'Show, change and delete animals. To add many, use import.',
  orders: 'List, place and change orders.',
  categories: 'Manage the names of categories.',
  inventory: 'Count the animals in each status.',
  events: 'List and follow changes.',
  webhooks: 'Show, test, disable and enable the webhooks of accounts, and send events again.',
  totals: 'Count accounts, keys and orders.',
  search: 'Find objects by id, name or reference.',
  audit: 'Show changes by operators.',
};

/**
 * Resources without a special summary. `callers` is excluded, because operators manage callers as accounts and keys.
 */
const others = stored.filter((name) => name !== 'callers' && !(name in sentences));

/**
 * Resources with commands, each with a summary. They match the operations of the admin API, which are not imported
 * here, because every command loads this file.
 */
export const resources: Readonly<Record<string, string>> = {
  ...sentences,
  ...Object.fromEntries(others.map((name) => [name, `Manage ${name}.`])),
};
