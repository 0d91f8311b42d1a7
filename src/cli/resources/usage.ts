import { type Command, Option } from 'commander';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import { pageLimit } from '../../contract/values.ts';
import { addCommand, addTimes, jsonOption, type ReadConfig, timeForms } from '../command.ts';
import { CommandError } from '../terminal.ts';
import { atMostAPage, positive } from '../values.ts';

interface UsageOptions {
  readonly account?: number;
  readonly key?: number;
  readonly deprecated?: true;
  readonly minutes?: true;
  readonly by: 'hour' | 'day';
  readonly limit: number;
  /** Unix ms. */
  readonly since?: number;
  readonly until?: number;
  readonly json?: true;
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
    .option('--account <account-id>', 'requests of this account over time', positive)
    .option('--key <key-id>', 'requests of this key over time', positive)
    .option('--minutes', 'requests of each operation by minute, of the last hour')
    .option('--deprecated', 'who still calls deprecated operations, of the last 30 days')
    .addOption(
      new Option('--by <period>', 'with --account or --key').choices(['hour', 'day']).default('hour'),
    )
    .option('--limit <number>', `how many keys, at most ${pageLimit.max}`, atMostAPage, pageLimit.default)
    .addOption(jsonOption());
  addTimes(usage).action(async (options: UsageOptions) => {
    const { operation, params = {}, query = {}, ...printed } = reportOf(options);
    const { since, until, json } = options;
    const [{ adminOperations }, { runRow }] = await Promise.all([
      import('../../contract/admin/operations.ts'),
      import('./run.ts'),
    ]);
    const input = { params, query: { since, until, ...query }, body: {} };
    await runRow(config(), adminOperations[operation], input, { json, ...printed });
  });
}

interface Report {
  readonly operation: AdminOperationId;
  readonly params?: Readonly<Record<string, bigint>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly none?: string;
  readonly firstTitle?: string;
}

function reportOf({ account, key, deprecated, minutes, by, limit }: UsageOptions): Report {
  if ([account, key, deprecated, minutes].filter((chosen) => chosen !== undefined).length > 1) {
    throw new CommandError('Use only one of --account, --key, --deprecated and --minutes.', 2);
  }
  const overTime = { query: { resolution: by }, firstTitle: by.toUpperCase() };
  if (account !== undefined)
    return { operation: 'getAccountUsage', params: { accountId: BigInt(account) }, ...overTime };
  if (key !== undefined) return { operation: 'getKeyUsage', params: { keyId: BigInt(key) }, ...overTime };
  if (minutes) return { operation: 'listMinutes' };
  const none = 'Nobody calls a deprecated operation.';
  if (deprecated) return { operation: 'listDeprecatedCallers', query: { limit }, none };
  return { operation: 'listTopCallers', query: { limit } };
}
