/**
 * Resources that have commands, with a summary of each. The list duplicates information from the operations of the
 * admin API, which are too slow to load for every command.
 */
export const resources: Readonly<Record<string, string>> = {
  accounts: 'Manage accounts and their plans.',
  keys: 'Manage API keys.',
  limits: "Show accounts' rate limit usage.",
  bans: 'Manage temporary bans of keys that kept sending requests after a 429 response.',
  operators: 'Manage operators, who sign in to the admin API and the console.',
  pets: 'Show, change and delete animals. To add many, run "import".',
  orders: 'List, place and change orders.',
  categories: 'Manage category names.',
  inventory: 'Count the animals in each status.',
  events: 'List and follow changes.',
  webhooks: 'Show, test, enable and disable account webhooks, and resend events.',
  totals: 'Count accounts, keys and orders.',
  search: 'Find objects by id, name or reference.',
  audit: 'Show changes by operators.',
};
