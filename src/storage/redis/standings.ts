import { standing, type Verdict } from '../../domain/limit.ts';
import type { Versions } from '../../domain/resources.ts';
import type { Caller } from '../storage.ts';
import { type StateAnswer, stateOf, versionsOf } from './answers.ts';
import type { RedisContext } from './context.ts';
import { discarding, mostTries, type Reconciliation } from './reconciliation.ts';
import { kinds } from './scripts.ts';

interface Standing {
  readonly verdict: Verdict;
  readonly versions: Versions;
}

export function standingOf(
  context: RedisContext,
  reconciliation: Reconciliation,
  caller: Caller,
): Promise<Standing> {
  return context.link.shared(
    () => standingInRedis(context, reconciliation, caller),
    async () => {
      const versions = context.versions.fallback();
      await reconciliation.recall(caller);
      return { verdict: context.localLimits.standing(caller, context.clock.now()), versions };
    },
  );
}

async function standingInRedis(
  { link, keys, clock, versions }: RedisContext,
  reconciliation: Reconciliation,
  { accountId, keyId, quota }: Caller,
): Promise<Standing> {
  for (let tries = 0; tries < mostTries; tries++) {
    reconciliation.reportFirst(accountId);
    const names = keys.ofStanding(accountId, keyId);
    const answer = (await link.ask('standing', names, clock.arguments())) as StateAnswer;
    const [kind, told] = answer;
    if (kind !== kinds.unknown) {
      const { nowMs, usage, penalty, aheadMs, epoch } = stateOf(answer);
      clock.hear(nowMs, aheadMs, epoch);
      const verdict = standing(usage, penalty, quota, nowMs);
      return { verdict, versions: versions.hearRedis(versionsOf(told)) };
    }
    await reconciliation.reconcile(accountId);
  }
  throw discarding();
}
