/** The commands for accounts: who is counted, and by which plan. */
import { type Command, Option } from 'commander';
import { accountStates } from '../contract/admin/accounts.ts';
import {
  addCommand,
  addGroup,
  atOnce,
  jsonOption,
  planChoice,
  quotaOptions,
  type ReadConfig,
} from './command.ts';
import { count, label } from './values.ts';

export function addAccounts(program: Command, config: ReadConfig): void {
  const accounts = addGroup(program, 'accounts', 'Manage accounts and their plans.');
  const create = addCommand(accounts, 'create', {
    summary: 'Create an account.',
    examples: [
      'animal-store accounts create --name "Seattle shop" --plan pro',
      'animal-store accounts create --name Partner --plan enterprise --per-minute 5000 --per-day 1000000 --json',
    ],
  })
    .requiredOption('--name <name>', 'name of the account', label)
    .requiredOption('--plan <plan>', planChoice)
    .addOption(jsonOption())
    .action(async (options) => (await import('./accounts.ts')).createAccount(config(), options));

  addShowAccounts(accounts, config);
  addChangeAccount(accounts, config);
  addAccountStates(accounts, config);
  for (const option of quotaOptions()) create.addOption(option);
}

function addShowAccounts(accounts: Command, config: ReadConfig): void {
  addCommand(accounts, 'list', {
    summary: 'List accounts, by ascending id; with --name, by name.',
    examples: ['animal-store accounts list', 'animal-store accounts list --name seattle --json'],
  })
    .option('--name <name>', 'only accounts whose name begins with this, in upper or lower case', label)
    .addOption(new Option('--state <state>', 'only open or closed accounts').choices(accountStates))
    .addOption(jsonOption())
    .action(async (options) => (await import('./accounts.ts')).listAccounts(config(), options));

  addCommand(accounts, 'show', {
    summary: 'Show an account.',
    examples: ['animal-store accounts show 2', 'animal-store accounts show 2 --json'],
    notes: ['For its keys, see keys list --account; for what it uses, limits show and usage --account.'],
  })
    .argument('<account-id>', 'id of the account', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./accounts.ts')).showAccount(config(), id, options));
}

function addChangeAccount(accounts: Command, config: ReadConfig): void {
  addCommand(accounts, 'rename', {
    summary: 'Rename an account.',
    examples: ['animal-store accounts rename 2 "Portland shop"'],
  })
    .argument('<account-id>', 'id of the account', count)
    .argument('<name>', 'new name', label)
    .addOption(jsonOption())
    .action(async (id, name, options) =>
      (await import('./accounts.ts')).renameAccount(config(), id, name, options),
    );

  const setPlan = addCommand(accounts, 'set-plan', {
    summary: "Change an account's plan.",
    examples: [
      'animal-store accounts set-plan 2 business',
      'animal-store accounts set-plan 2 enterprise --per-minute 5000 --per-day 1000000',
    ],
    notes: [atOnce],
  })
    .argument('<account-id>', 'id of the account', count)
    .argument('<plan>', planChoice)
    .addOption(jsonOption())
    .action(async (id, plan, options) =>
      (await import('./accounts.ts')).setPlan(config(), id, plan, options),
    );
  for (const option of quotaOptions()) setPlan.addOption(option);
}

function addAccountStates(accounts: Command, config: ReadConfig): void {
  addCommand(accounts, 'close', {
    summary: 'Close an account: its keys are refused. Nothing is deleted.',
    examples: ['animal-store accounts close 2'],
    notes: [atOnce],
  })
    .argument('<account-id>', 'id of the account', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./accounts.ts')).closeAccount(config(), id, options));

  addCommand(accounts, 'reopen', {
    summary: 'Reopen a closed account: its keys work again.',
    examples: ['animal-store accounts reopen 2'],
    notes: [atOnce],
  })
    .argument('<account-id>', 'id of the account', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./accounts.ts')).reopenAccount(config(), id, options));
}
