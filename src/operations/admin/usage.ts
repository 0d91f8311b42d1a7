import type { UsageOwner, UsagePeriod, UsageResolution } from '../../storage/admin.ts';
import { iso } from '../shown.ts';
import type { AskedRange, CallerUsage } from '../usage-reports.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** Who makes how many requests. */
export const usageHandlers = {
  getAccountUsage: async ({ accounts, usage }, { params, query }) => {
    const { id: accountId } = await accounts.find(Number(params.accountId));
    return periods(usage, { accountId }, query);
  },
  getKeyUsage: async ({ keys, usage }, { params, query }) => {
    const { id: keyId } = await keys.find(Number(params.keyId));
    return periods(usage, { keyId }, query);
  },
  listMinutes: async ({ usage }, { query }) =>
    (await usage.minutes(query)).map(({ minute, operation, codes }) => ({
      minute: iso(minute),
      operation,
      codes: { ...codes },
    })),
  listTopCallers: async ({ usage }, { query }) =>
    (await usage.topCallers(query, query.limit)).map(shownCaller),
  listDeprecatedCallers: async ({ usage }, { query }) =>
    (await usage.deprecatedCallers(query, query.limit)).map(shownCaller),
} satisfies HandlersOf<
  OperatorServices,
  'getAccountUsage' | 'getKeyUsage' | 'listMinutes' | 'listTopCallers' | 'listDeprecatedCallers'
>;

async function periods(
  usage: OperatorServices['usage'],
  owner: UsageOwner,
  { resolution, ...asked }: AskedRange & { readonly resolution: UsageResolution },
) {
  return (await usage.periods(owner, resolution, asked)).map(({ from, ...counts }: UsagePeriod) => ({
    from: iso(from),
    ...counts,
  }));
}

export function shownCaller({ lastUsedAt, ...usage }: CallerUsage) {
  return { ...usage, lastUsedAt: iso(lastUsedAt) };
}
