/** Creates accounts with the usual limits of their plans. No account exceeds its limits during a run. */
import type { AdminServices } from '../src/app/app.ts';
import { type PlanName, plans, type Quota } from '../src/domain/plan.ts';
import { scopes } from '../src/domain/scope.ts';
import { randomFrom } from '../test/support/random.ts';
import type { Callers } from './contender.ts';

/**
 * Total requests per second that the callers' limits allow. A faster service would respond with 429, which counts as an
 * error.
 */
const maxPerSecond = 200_000;
/** An Enterprise quota that no run can exhaust. */
export const unlimited: Quota = { perMinute: 1_000_000_000, perDay: 1_000_000_000_000 };

/** Plan mixes. `free and pro` has four Free accounts for each Pro account. */
const mixes: Readonly<Record<Callers, Partial<Record<PlanName, number>>>> = {
  'free and pro': { free: 4, pro: 1 },
  free: { free: 1 },
  pro: { pro: 1 },
  business: { business: 1 },
  enterprise: { enterprise: 1 },
};

/**
 * Creates accounts with one key each: enough that no account exceeds its per-minute limit in a run of this length.
 * Returns the keys in random order, each repeated in proportion to its limit.
 */
export async function createCallerKeys(
  { accounts, keys }: AdminServices,
  who: Callers,
  seconds: number,
): Promise<readonly string[]> {
  const mix = Object.entries(mixes[who]) as [PlanName, number][];
  if (who === 'enterprise') return [await newKey('enterprise', unlimited)];
  const perMinute = (plan: PlanName) => plans[plan as keyof typeof plans].perMinute;
  const minPerMinute = Math.min(...mix.map(([plan]) => perMinute(plan)));
  const groupPerMinute = mix.reduce((sum, [plan, count]) => sum + count * perMinute(plan), 0);
  const groups = Math.ceil((seconds * maxPerSecond) / groupPerMinute);
  const turns = await Promise.all(
    mix.flatMap(([plan, count]) =>
      Array.from({ length: groups * count }, async () => {
        const key = await newKey(plan);
        return Array.from({ length: perMinute(plan) / minPerMinute }, () => key);
      }),
    ),
  );
  const chance = randomFrom(3);
  const placed = turns.flat().map((key) => ({ key, place: chance() }));
  return placed.sort((one, other) => one.place - other.place).map(({ key }) => key);

  async function newKey(plan: PlanName, quota?: Quota): Promise<string> {
    const { id } = await accounts.create('bench', plan, quota);
    return (await keys.create(id, plan, undefined, scopes)).key;
  }
}
