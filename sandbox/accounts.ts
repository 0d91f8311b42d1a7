import type { AdminServices } from '../src/app/app.ts';
import type { CustomQuota, PlanName, Quota } from '../src/domain/plan.ts';
import { type Scope, scopes } from '../src/domain/scope.ts';

/** An account and its key. A sandbox's keys are not secret. */
export interface SandboxAccount extends Quota {
  readonly account: number;
  readonly plan: PlanName;
  readonly key: string;
}

export interface NewSandboxAccount extends CustomQuota {
  readonly plan: string;
  readonly expiresInSeconds?: number | undefined;
  readonly scopes?: readonly Scope[] | undefined;
}

const ample: Quota = { perMinute: 10_000, perDay: 1_000_000 };

/** Creates an account with one key. Throws `PlanError`. */
export async function createAccount(
  { accounts, keys }: AdminServices,
  { plan, perMinute, perDay, expiresInSeconds, scopes: given = scopes }: NewSandboxAccount,
): Promise<SandboxAccount> {
  const isGiven = (perMinute ?? perDay) !== undefined;
  const custom = plan === 'enterprise' && !isGiven ? ample : { perMinute, perDay };
  const made = await accounts.create(`sandbox ${plan}`, plan, custom);
  const lifetime = expiresInSeconds === undefined ? null : expiresInSeconds * 1_000;
  const { key } = await keys.create(made.id, 'sandbox', lifetime, given);
  return { account: made.id, plan: made.plan, ...made.quota, key };
}
