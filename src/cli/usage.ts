import { type AdminServices, openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { usageHandlers } from '../operations/admin/usage.ts';
import { CommandError, grouped, instant, say, sayJson, table } from './terminal.ts';

export interface UsageOptions {
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

interface Range {
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/** Who makes how many requests: the keys with the most, or one account, one key, or each operation over time. */
export async function showUsage(config: Config, options: UsageOptions): Promise<void> {
  const { account, key, deprecated, minutes, since, until } = options;
  if ([account, key, deprecated, minutes].filter((given) => given !== undefined).length > 1) {
    throw new CommandError('Use only one of --account, --key, --deprecated and --minutes.', 2);
  }
  await using admin = await openAdminServices(config);
  const range = { since, until };
  if (minutes) await showMinutes(admin, range, options);
  else if (account === undefined && key === undefined) await showCallers(admin, range, options);
  else await showPeriods(admin, range, options);
}

async function showCallers(admin: AdminServices, range: Range, options: UsageOptions): Promise<void> {
  const { deprecated, limit, json } = options;
  const name = deprecated ? 'listDeprecatedCallers' : 'listTopCallers';
  const input = { params: {}, query: { ...range, limit }, body: undefined };
  const callers = await usageHandlers[name](admin, input);
  if (json) return sayJson(callers);
  if (callers.length === 0) return say(deprecated ? 'Nobody calls a deprecated operation.' : 'No requests.');
  say(
    table(
      ['KEY', 'NAME', 'ACCOUNT', 'ACCOUNT NAME', ...counts, 'DEPRECATED', 'LAST USED'],
      callers.map((caller) => [
        String(caller.keyId),
        caller.keyName,
        String(caller.accountId),
        caller.accountName,
        ...countsOf(caller),
        grouped(caller.deprecated),
        instant(Date.parse(caller.lastUsedAt)),
      ]),
    ),
  );
}

async function showPeriods(admin: AdminServices, range: Range, options: UsageOptions): Promise<void> {
  const { account, key, by, json } = options;
  const query = { ...range, resolution: by };
  const periods =
    account === undefined
      ? await usageHandlers.getKeyUsage(admin, {
          params: { keyId: BigInt(key ?? 0) },
          query,
          body: undefined,
        })
      : await usageHandlers.getAccountUsage(admin, {
          params: { accountId: BigInt(account) },
          query,
          body: undefined,
        });
  if (json) return sayJson(periods);
  if (periods.length === 0) return say('No requests.');
  say(
    table(
      [by === 'hour' ? 'HOUR' : 'DAY', ...counts],
      periods.map((period) => [instant(Date.parse(period.from)), ...countsOf(period)]),
    ),
  );
}

async function showMinutes(admin: AdminServices, range: Range, { json }: UsageOptions): Promise<void> {
  const minutes = await usageHandlers.listMinutes(admin, { params: {}, query: range, body: undefined });
  if (json) return sayJson(minutes);
  if (minutes.length === 0) return say('No requests.');
  say(
    table(
      ['MINUTE', 'OPERATION', 'REQUESTS'],
      minutes.map(({ minute, operation, codes }) => [
        instant(Date.parse(minute)),
        operation,
        Object.entries(codes)
          .map(([code, requests]) => `${code} ${grouped(requests)}`)
          .join(', '),
      ]),
    ),
  );
}

const counts = ['OK', '4XX', '429', '5XX'] as const;

interface Counts {
  readonly ok: number;
  readonly refused: number;
  readonly limited: number;
  readonly failed: number;
}

function countsOf({ ok, refused, limited, failed }: Counts): string[] {
  return [ok, refused, limited, failed].map(grouped);
}
