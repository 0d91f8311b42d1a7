/** The commands for who runs the service, and what was done and used: operators, audit log, usage and status. */
import { type Command, Option } from 'commander';
import { pageLimit } from '../contract/values.ts';
import { roles } from '../domain/role.ts';
import { addCommand, addGroup, addList, jsonOption, type ReadConfig } from './command.ts';
import { atMostAPage, count, instantOrAgo, int64, label } from './values.ts';

export function addOperators(program: Command, config: ReadConfig): void {
  const operators = addGroup(
    program,
    'operators',
    'Manage operators, who sign in to the admin API and the console.',
  );
  addCommand(operators, 'create', {
    summary: 'Add an operator.',
    examples: [
      'animal-store operators create anna --role admin',
      'animal-store operators create dashboards --role viewer --json',
    ],
    notes: [
      'A viewer reads. An admin changes, too. No two operators have the same name.',
      'The token is shown only once. The store keeps only its SHA-256 hash and last four characters.',
    ],
  })
    .argument('<name>', 'name of the operator', label)
    .addOption(new Option('--role <role>', 'what the operator may do').choices(roles).makeOptionMandatory())
    .addOption(jsonOption())
    .action(async (name, options) =>
      (await import('./operators.ts')).createOperator(config(), name, options),
    );

  addCommand(operators, 'list', {
    summary: 'List all operators. Only the last four characters of each token are shown.',
    examples: ['animal-store operators list', 'animal-store operators list --json'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./operators.ts')).listOperators(config(), options));

  addCommand(operators, 'rotate', {
    summary: "Replace an operator's token. The old one and all sessions end at once.",
    examples: ['animal-store operators rotate anna', 'animal-store operators rotate 2'],
    notes: ['The new token is shown only once.'],
  })
    .argument('<operator>', 'name or id of the operator', label)
    .addOption(jsonOption())
    .action(async (operator, options) =>
      (await import('./operators.ts')).rotateOperator(config(), operator, options),
    );

  addCommand(operators, 'revoke', {
    summary: 'Revoke an operator permanently. The token and all sessions end at once.',
    examples: ['animal-store operators revoke anna', 'animal-store operators revoke 2'],
  })
    .argument('<operator>', 'name or id of the operator', label)
    .addOption(jsonOption())
    .action(async (operator, options) =>
      (await import('./operators.ts')).revokeOperator(config(), operator, options),
    );
}

const timeForms = 'A time is 2026-11-22T09:30:00Z, a day (UTC) such as 2026-11-22, or so long ago: 24h, 7d.';

/** Adds the options for a time. */
function timed(command: Command): Command {
  return command
    .option('--since <time>', 'only what happened at this time or later', instantOrAgo)
    .option('--until <time>', 'only what happened before this time', instantOrAgo);
}

/** Adds the options that say which entries of the audit log. */
function filtered(command: Command): Command {
  return timed(command)
    .option('--actor <actor>', 'only what this actor did, such as operator:anna or cli:root')
    .option('--account <account-id>', 'only what was done to this account and its keys', int64)
    .option('--object <object>', 'only what was done to this, such as account:7 or key:3');
}

export function addAudit(program: Command, config: ReadConfig): void {
  const audit = addGroup(program, 'audit', 'Show what operators changed, and who changed it.');
  const list = addList(audit, {
    summary: 'List changes, the latest first.',
    examples: [
      'animal-store audit list --since 24h',
      'animal-store audit list --account 7 --limit all --json',
    ],
    notes: ['With --json, each entry has the object before and after the change.', timeForms],
  });
  filtered(list).action(async (options) => (await import('./audit.ts')).listAudit(config(), options));

  const exporting = addCommand(audit, 'export', {
    summary: 'Export changes as NDJSON, the oldest first. The service can keep running.',
    examples: [
      'animal-store audit export audit.ndjson --since 2026-11-01 --until 2026-12-01',
      'animal-store audit export - | gzip > audit.ndjson.gz',
    ],
    notes: [
      'Each line is an entry, as audit list --json has it. The file appears when it is complete.',
      timeForms,
    ],
  })
    .argument('<file>', 'FILE.ndjson, or - for standard output')
    .option('--force', 'replace the file if it exists')
    .addOption(jsonOption());
  filtered(exporting).action(async (file, options) =>
    (await import('./audit.ts')).exportAudit(config(), file, options),
  );
}

export function addUsage(program: Command, config: ReadConfig): void {
  const usage = addCommand(program, 'usage', {
    summary: 'Show who makes how many requests.',
    examples: [
      'animal-store usage',
      'animal-store usage --account 2 --since 7d --by day',
      'animal-store usage --deprecated --since 30d',
      'animal-store usage --minutes --json',
    ],
    notes: [
      'Without --account, --key or --minutes: the keys with the most requests, of today (UTC), by whole days.',
      'Requests of the last 10 seconds may be missing. Minutes are kept for 2 days, hours for 7, days for 400.',
      '',
      timeForms,
    ],
  })
    .option('--account <account-id>', 'requests of this account over time', count)
    .option('--key <key-id>', 'requests of this key over time', count)
    .option('--minutes', 'requests of each operation by minute, of the last hour')
    .option('--deprecated', 'who still calls deprecated operations, of the last 30 days')
    .addOption(
      new Option('--by <period>', 'with --account or --key').choices(['hour', 'day']).default('hour'),
    )
    .option('--limit <number>', `how many keys, at most ${pageLimit.max}`, atMostAPage, pageLimit.default)
    .addOption(jsonOption());
  timed(usage).action(async (options) => (await import('./usage.ts')).showUsage(config(), options));
}

export function addLimits(program: Command, config: ReadConfig): void {
  const limits = addGroup(program, 'limits', 'Show what accounts use of their limits.');
  addCommand(limits, 'show', {
    summary: 'Show what an account has used of its limits now. This costs the account nothing.',
    examples: ['animal-store limits show 2', 'animal-store limits show 2 --json'],
  })
    .argument('<account-id>', 'id of the account', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./accounts.ts')).showLimits(config(), id, options));
}

export function addStatus(program: Command, config: ReadConfig): void {
  addCommand(program, 'status', {
    summary: 'Show how the store is, and which instances of the service use it.',
    examples: ['animal-store status', 'animal-store status --json'],
    notes: ['What is shown is what this command sees. To ask a running service, use its /readyz.'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./status.ts')).showStatus(config(), options));
}
