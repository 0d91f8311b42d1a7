/** Commands that issue keys. Unlike the admin API, they accept lifetimes and grace periods as durations. */
import { type Command, Option } from 'commander';
import type { Config } from '../../config.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { planNames, type Quota } from '../../domain/plan.ts';
import { defaultScopes, type Scope } from '../../domain/scope.ts';
import type { IssuedKey } from '../../operations/admin/keys.ts';
import { addCommand, jsonOption, type ReadConfig, takesEffectNote } from '../command.ts';
import {
  parseDuration,
  parseDurationOrNever,
  parseDurationOrNow,
  parseName,
  parsePositiveInteger,
  parseScopeList,
} from '../parsers.ts';
import { CommandError, formatDateTime, printSecret, styleIfSupported } from '../terminal.ts';
import { scopesNotes } from './command-overrides.ts';
import { describeEffect } from './result-messages.ts';

export function addCreateKey(keys: Command, config: ReadConfig): void {
  addCommand(keys, 'create', {
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
      'With --plan, the new account gets the same name as the key.',
    ],
  })
    .option('--account <account-id>', 'id of an existing account', parsePositiveInteger)
    .option(
      '--plan <plan>',
      `instead of --account: create an account with this plan: ${planNames.join(', ')}`,
    )
    .option('--name <name>', 'name of the key', parseName, 'unnamed')
    .option(
      '--expires-in <duration>',
      'lifetime of the key, such as 30s, 15m, 24h or 90d (default: never expires)',
      parseDuration,
    )
    .option('--scopes <scopes>', 'scopes of the key, separated by commas, or all', parseScopeList)
    .addOption(jsonOption())
    .option(
      '--per-minute <requests>',
      'requests per minute (plan enterprise only, required)',
      parsePositiveInteger,
    )
    .option('--per-day <requests>', 'requests per day (plan enterprise only, required)', parsePositiveInteger)
    .action((options) => createKey(config(), options));
}

export function addRotateKey(keys: Command, config: ReadConfig): void {
  addCommand(keys, 'rotate', {
    summary: 'Replace a key. The old key keeps working for a grace period.',
    examples: ['animal-store keys rotate 3', 'animal-store keys rotate 3 --grace 0'],
    notes: [
      'The new key is shown only once. It belongs to the same account, shares its limits, and has the same scopes.',
      takesEffectNote,
    ],
  })
    .argument('<key-id>', 'id of the old key', parsePositiveInteger)
    .addOption(
      new Option(
        '--grace <duration>',
        'how long the old key keeps working, such as 30s, 15m, 24h or 90d; 0 disables it immediately',
      )
        .argParser(parseDurationOrNow)
        .default(parseDurationOrNow('24h'), '24h'),
    )
    .option(
      '--expires-in <duration>',
      'lifetime of the new key, or never (default: the lifetime of the old key)',
      parseDurationOrNever,
    )
    .addOption(jsonOption())
    .action((id, options) => rotateKey(config(), id, options));
}

interface CreateKeyOptions extends Partial<Quota> {
  readonly account?: number;
  readonly plan?: string;
  readonly name: string;
  /** In ms. */
  readonly expiresIn?: number;
  readonly scopes?: readonly Scope[];
  readonly json?: true;
}

async function createKey(
  config: Config,
  { account, plan, name, expiresIn, scopes, json, ...quota }: CreateKeyOptions,
): Promise<void> {
  checkOwner(account, plan, quota);
  const { openAdminServices } = await import('../../app/app.ts');
  await using admin = await openAdminServices(config);
  const { id: accountId, closedAt } =
    account === undefined
      ? await admin.accounts.create(name, plan ?? '', quota)
      : await admin.accounts.find(account);
  const issued = await admin.keys.create(accountId, name, expiresIn, scopes);
  const notes = [
    ...(scopes === undefined
      ? [
          'It can only read and add animals. To allow more, create keys with --scopes, or run:\n' +
            `  animal-store keys set-scopes ${issued.id} pets:read,orders:write (or: all)`,
        ]
      : []),
    ...(closedAt === null
      ? []
      : [`Account ${accountId} is closed. The key will work when the account is reopened.`]),
  ];
  await printIssued(issued, json, ...notes);
}

/** Throws `CommandError` unless the options specify either an existing or a new account. */
function checkOwner(account: number | undefined, plan: string | undefined, quota: Partial<Quota>): void {
  if ((account === undefined) === (plan === undefined)) {
    throw new CommandError('Specify either --account ACCOUNT-ID, or --plan PLAN to create a new account.', 2);
  }
  if (account !== undefined && (quota.perMinute ?? quota.perDay) !== undefined) {
    throw new CommandError(
      '--per-minute and --per-day apply to a new account only. To change an existing one: animal-store accounts set-plan',
      2,
    );
  }
}

function printIssued(issued: IssuedKey, json: true | undefined, ...notes: readonly string[]): Promise<void> {
  const { id, accountId, plan, key, scopes, expiresAt } = issued;
  const asJson = { id, accountId, plan, key, scopes, expiresAt: expiresAt && new Date(expiresAt) };
  const lines = [
    `Created key ${id} for account ${accountId} (plan ${plan}). It is shown only once:`,
    `  ${styleIfSupported('bold', key)}`,
    `Scopes: ${scopes.join(', ')}.`,
    ...notes,
  ];
  const remedy =
    `Key ${id} of account ${accountId} was created, but is not known to anyone. Revoke it with ` +
    `"animal-store keys revoke ${id}", and create another one for the account.`;
  return printSecret(json ? escapeUnprintable(JSON.stringify(asJson)) : lines.join('\n'), remedy);
}

interface RotateKeyOptions {
  /** Grace period of the old key, in ms. */
  readonly grace: number;
  /** In ms; defaults to the lifetime of the old key. */
  readonly expiresIn?: number | 'never';
  readonly json?: true;
}

async function rotateKey(
  config: Config,
  id: number,
  { grace, expiresIn, json }: RotateKeyOptions,
): Promise<void> {
  const { openAdminServices } = await import('../../app/app.ts');
  await using admin = await openAdminServices(config);
  const issued = await admin.keys.rotate(id, grace, expiresIn === 'never' ? null : expiresIn);
  const oldKeyNote =
    grace === 0
      ? `Key ${id} no longer works.${describeEffect(admin.storage)}`
      : `Key ${id} keeps working until ${formatDateTime(admin.clock.now() + grace)}, or until it expires if that is earlier.`;
  await printIssued(issued, json, `${describeLifetime(issued, id, expiresIn === undefined)}\n${oldKeyNote}`);
}

function describeLifetime({ expiresAt }: IssuedKey, oldId: number, isKept: boolean): string {
  const life = expiresAt === null ? 'never expires' : `expires ${formatDateTime(expiresAt)}`;
  return isKept ? `It ${life} (same lifetime as key ${oldId}).` : `It ${life}.`;
}
