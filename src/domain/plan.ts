/** Quotas of accounts (specification, section 8). */
export interface Quota {
  readonly perMinute: number;
  readonly perDay: number;
}

export type CustomQuota = { readonly [Window in keyof Quota]?: number | undefined };

/** The plans with fixed quotas. Each `enterprise` account has a custom quota. */
export const plans = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, Quota>;

export const planNames = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** Maximum custom quota. Low enough that request counts are always exact JavaScript numbers. */
export const maxQuota = 1_000_000_000_000;

/** The plan is invalid. `message` states what is expected, and `field` names the invalid member. */
export class PlanError extends Error {
  readonly field: 'plan' | keyof Quota;

  constructor(field: 'plan' | keyof Quota, message: string) {
    super(message);
    this.field = field;
  }
}

/**
 * The quota of a plan. `custom` is for `enterprise` only: each limit is 1 to `maxQuota`, and the limit per minute must
 * not exceed the limit per day. Throws `PlanError`.
 */
export function resolveQuota(plan: string, custom: CustomQuota = {}): { plan: PlanName; quota: Quota } {
  const { perMinute, perDay } = custom;
  if (plan in plans) {
    if (perMinute !== undefined || perDay !== undefined) {
      throw new PlanError(
        perMinute === undefined ? 'perDay' : 'perMinute',
        `The limits of plan "${plan}" are fixed. Only plan "enterprise" has custom limits.`,
      );
    }
    return { plan: plan as PlanName, quota: plans[plan as keyof typeof plans] };
  }
  if (plan !== 'enterprise') {
    throw new PlanError('plan', `Unknown plan "${plan}". Choose one of: ${planNames.join(', ')}.`);
  }
  if (!isQuota(perMinute) || !isQuota(perDay)) {
    throw new PlanError(
      isQuota(perMinute) ? 'perDay' : 'perMinute',
      'Plan "enterprise" requires a limit per minute and a limit per day, each a whole number of at least 1.',
    );
  }
  if (perMinute > perDay) {
    throw new PlanError(
      'perMinute',
      `The limit per minute (${perMinute}) must not exceed the limit per day (${perDay}).`,
    );
  }
  return { plan, quota: { perMinute, perDay } };
}

function isQuota(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxQuota;
}
