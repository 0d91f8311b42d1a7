/** The commands for keys and their bans. */
import type { Command } from 'commander';
import { defaultScopes, scopes } from '../domain/scope.ts';
import {
  addCommand,
  addGroup,
  atOnce,
  graceOption,
  jsonOption,
  planChoice,
  quotaOptions,
  type ReadConfig,
} from './command.ts';
import { count, duration, durationOrNever, label, scopeList } from './values.ts';

export function addKeys(program: Command, config: ReadConfig): void {
  const keys = addGroup(program, 'keys', 'Manage API keys.');
  addCreateKey(keys, config);
  addSetScopes(keys, config);
  addCommand(keys, 'list', {
    summary: 'List keys. Only the last four characters of each are shown.',
    examples: ['animal-store keys list', 'animal-store keys list --account 2 --json'],
    notes: ['LAST USED is to the minute. TODAY counts requests since 00:00 UTC.'],
  })
    .option('--account <account-id>', 'only keys of this account', count)
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).listKeys(config(), options));

  addCommand(keys, 'show', {
    summary: 'Show a key, and how it is used. The key itself is never shown again.',
    examples: ['animal-store keys show 3', 'animal-store keys show 3 --json'],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).showKey(config(), id, options));

  addCommand(keys, 'rotate', {
    summary: 'Replace a key. The old one keeps working for a grace period.',
    examples: ['animal-store keys rotate 3', 'animal-store keys rotate 3 --grace 0'],
    notes: [
      'The new key is shown only once. It belongs to the same account, shares its limits, and has the same scopes.',
      atOnce,
    ],
  })
    .argument('<key-id>', 'id of the old key', count)
    .addOption(graceOption())
    .option(
      '--expires-in <duration>',
      'lifetime of the new key, or never (default: the lifetime of the old key)',
      durationOrNever,
    )
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).rotateKey(config(), id, options));

  addCommand(keys, 'revoke', {
    summary: 'Revoke a key permanently.',
    examples: ['animal-store keys revoke 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).revokeKey(config(), id, options));
}

const scopesNotes = [
  `Scopes: ${scopes.join(', ')}.`,
  'A request that needs another scope gets 403, with the name of the scope. getRateLimit needs none.',
];

function addSetScopes(keys: Command, config: ReadConfig): void {
  addCommand(keys, 'set-scopes', {
    summary: 'Set what a key may do.',
    examples: ['animal-store keys set-scopes 3 pets:read,orders:write', 'animal-store keys set-scopes 3 all'],
    notes: ['The key has exactly these scopes afterwards.', ...scopesNotes, atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .argument('<scopes>', 'scopes separated by commas, or all', scopeList)
    .addOption(jsonOption())
    .action(async (id, scopes, options) =>
      (await import('./keys.ts')).setScopes(config(), id, scopes, options),
    );
}

function addCreateKey(keys: Command, config: ReadConfig): void {
  const create = addCommand(keys, 'create', {
    summary: 'Create an API key, for an existing account or a new one.',
    examples: [
      'animal-store keys create --account 2 --name website --expires-in 90d',
      'animal-store keys create --account 2 --name shop --scopes pets:read,orders:read,orders:write',
      'animal-store keys create --plan free --name trial --json',
    ],
    notes: [
      'The key is shown only once. The store keeps only its SHA-256 hash and last four characters.',
      '',
      ...scopesNotes,
      `Without --scopes, the key gets ${defaultScopes.join(',')}.`,
      '',
      'An account created with --plan gets the name of its key.',
    ],
  })
    .option('--account <account-id>', 'id of an existing account', count)
    .option('--plan <plan>', `instead of --account: create an account with this ${planChoice}`)
    .option('--name <name>', 'name of the key', label, 'unnamed')
    .option(
      '--expires-in <duration>',
      'lifetime of the key, such as 30s, 15m, 24h or 90d (default: never expires)',
      duration,
    )
    .option('--scopes <scopes>', 'what the key may do: scopes separated by commas, or all', scopeList)
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).createKey(config(), options));
  for (const option of quotaOptions()) create.addOption(option);
}

export function addBans(program: Command, config: ReadConfig): void {
  const bans = addGroup(
    program,
    'bans',
    'Manage temporary bans of keys that kept sending requests after 429.',
  );
  addCommand(bans, 'list', {
    summary: 'List banned keys.',
    examples: ['animal-store bans list', 'animal-store bans list --json'],
    notes: [
      'LEVEL is the number of consecutive bans before this one. Each ban lasts twice as long as the one before.',
    ],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./bans.ts')).listBans(config(), options));

  addCommand(bans, 'lift', {
    summary: "Lift a ban and reset the key's strikes and ban level.",
    examples: ['animal-store bans lift 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./bans.ts')).liftBan(config(), id, options));
}
