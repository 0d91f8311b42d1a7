import { type Command, Option } from 'commander';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import { type UsageStep, usageSteps } from '../../contract/admin/usage.ts';
import { pageLimit } from '../../contract/values.ts';
import { addCommand, addTimeRangeOptions, jsonOption, type ReadConfig, timeFormats } from '../command.ts';
import { parsePageSize, parsePositiveInteger } from '../parsers.ts';
import { CommandError } from '../terminal.ts';

interface UsageOptions {
  readonly account?: number;
  readonly key?: number;
  readonly deprecated?: true;
  readonly minutes?: true;
  readonly history?: true;
  readonly operations?: true;
  readonly step: UsageStep;
  readonly by: 'hour' | 'day';
  readonly limit: number;
  /** Unix ms. */
  readonly since?: number;
  readonly until?: number;
  readonly json?: true;
}

export function addUsageCommand(program: Command, config: ReadConfig): void {
  const usage = addCommand(program, 'usage', {
    summary: 'Show the number of requests by account, key or operation.',
    examples: [
      'animal-store usage',
      'animal-store usage --account 2 --since 7d --by day',
      'animal-store usage --deprecated --since 30d',
      'animal-store usage --history --step 1h --since 7d',
      'animal-store usage --operations --since 24h',
      'animal-store usage --key 3 --operations',
      'animal-store usage --minutes --json',
    ],
    notes: [
      'Without --account, --key, --history, --operations or --minutes, shows the keys with the most requests today (UTC).',
      'For keys, --since and --until select whole days.',
      'Requests in the last 10 seconds may be missing. Minute data is kept for 2 days, hourly data for 7 days and',
      'daily data for 400 days; the history and the hourly requests by operation are kept for 35 days.',
      '',
      timeFormats,
    ],
  })
    .option('--account <account-id>', 'requests of this account over time', parsePositiveInteger)
    .option('--key <key-id>', 'requests of this key over time', parsePositiveInteger)
    .option('--history', 'all requests and their latency over time')
    .addOption(
      new Option('--step <length>', 'length of the steps of --history').choices(usageSteps).default('1m'),
    )
    .option('--operations', 'requests of each operation in the last hour; with --key by day')
    .option('--minutes', 'requests of each operation by minute in the last hour')
    .option('--deprecated', 'callers of deprecated operations in the last 30 days')
    .addOption(
      new Option('--by <period>', 'with --account or --key').choices(['hour', 'day']).default('hour'),
    )
    .option('--limit <number>', `number of keys, at most ${pageLimit.max}`, parsePageSize, pageLimit.default)
    .addOption(jsonOption());
  addTimeRangeOptions(usage).action(async (options: UsageOptions) => {
    const { operation, params = {}, query = {}, ...printed } = chooseReport(options);
    const { since, until, json } = options;
    const [{ adminOperations }, { runOperation }] = await Promise.all([
      import('../../contract/admin/operations.ts'),
      import('./run-operation.ts'),
    ]);
    const input = { params, query: { since, until, ...query }, body: {} };
    await runOperation(config(), adminOperations[operation], input, { json, ...printed });
  });
}

interface Report {
  readonly operation: AdminOperationId;
  readonly params?: Readonly<Record<string, bigint>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly emptyText?: string;
  readonly firstTitle?: string;
}

function chooseReport(options: UsageOptions): Report {
  const { account, key, deprecated, minutes, history, operations, by, step, limit } = options;
  const params = { keyId: BigInt(key ?? 0) };
  if (key !== undefined && operations) return { operation: 'getKeyOperations', params };
  const chosen = [account, key, deprecated, minutes, history, operations];
  if (chosen.filter((each) => each !== undefined).length > 1) {
    throw new CommandError(
      'Use only one of --account, --key, --deprecated, --history, --operations and --minutes.',
      2,
    );
  }
  const overTime = { query: { resolution: by }, firstTitle: by.toUpperCase() };
  if (account !== undefined)
    return { operation: 'getAccountUsage', params: { accountId: BigInt(account) }, ...overTime };
  if (key !== undefined) return { operation: 'getKeyUsage', params, ...overTime };
  if (history) return { operation: 'getTrafficHistory', query: { step } };
  if (operations) return { operation: 'listOperationUsage' };
  if (minutes) return { operation: 'listMinutes' };
  const emptyText = 'There are no callers of deprecated operations.';
  if (deprecated) return { operation: 'listDeprecatedCallers', query: { limit }, emptyText };
  return { operation: 'listTopCallers', query: { limit } };
}
