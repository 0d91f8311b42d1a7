import type { AdminServices } from '../app.ts';
import type { CustomQuota, PlanName, Quota } from '../domain/plan.ts';
import { planNames } from '../domain/plan.ts';
import { scopes } from '../domain/scope.ts';

/** An account with its key, which everybody who steers the sandbox may see. */
export interface SandboxAccount extends Quota {
  readonly account: number;
  readonly plan: PlanName;
  readonly key: string;
}

export interface NewSandboxAccount extends CustomQuota {
  readonly plan: string;
  /** How long its key is valid; unless given, for ever. */
  readonly expiresInSeconds?: number | undefined;
}

/** What an enterprise account may do unless it brings its own limits. */
const ample: Quota = { perMinute: 10_000, perDay: 1_000_000 };

type Services = Pick<AdminServices, 'accounts' | 'keys'>;

/** Makes an account with a key that may do everything. Throws `PlanError`. */
export async function createAccount(
  { accounts, keys }: Services,
  { plan, perMinute, perDay, expiresInSeconds }: NewSandboxAccount,
): Promise<SandboxAccount> {
  const isGiven = (perMinute ?? perDay) !== undefined;
  const custom = plan === 'enterprise' && !isGiven ? ample : { perMinute, perDay };
  const made = await accounts.create(`sandbox ${plan}`, plan, custom);
  const lifetime = expiresInSeconds === undefined ? null : expiresInSeconds * 1_000;
  const { key } = await keys.create(made.id, 'sandbox', lifetime, scopes);
  return { account: made.id, plan: made.plan, ...made.quota, key };
}

/** Makes an account of each plan. */
export function createAccounts(services: Services): Promise<SandboxAccount[]> {
  return Promise.all(planNames.map((plan) => createAccount(services, { plan })));
}
