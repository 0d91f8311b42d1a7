import type { Versions } from '../../domain/resources.ts';
import { banStatus } from '../ban-status.ts';
import { standing } from '../limit.ts';
import type { CountedCaller, Standing } from '../limit-store.ts';
import type { RedisContext } from './context.ts';
import { discarding, maxAttempts, type Reconciliation } from './reconciliation.ts';
import { type StateReply, stateOf, versionsOf } from './script-replies.ts';
import { replyKinds } from './scripts.ts';

type Found = Standing & { readonly versions: Versions };

export function standingOf(
  context: RedisContext,
  reconciliation: Reconciliation,
  caller: CountedCaller,
): Promise<Found> {
  const shard = context.servers.of(caller.accountId);
  return shard.shared(
    () => standingInRedis(context, reconciliation, caller),
    async () => {
      const versions = await currentVersions(context);
      await reconciliation.recall(caller);
      return { ...context.localLimits.standing(caller, shard.clock.now()), versions };
    },
  );
}

async function standingInRedis(
  { servers, versions, rules }: RedisContext,
  reconciliation: Reconciliation,
  { accountId, keyId, quota }: CountedCaller,
): Promise<Found> {
  const shard = servers.of(accountId);
  const { link, keys, clock } = shard;
  for (let tries = 0; tries < maxAttempts; tries++) {
    reconciliation.reportFirst(accountId);
    const names = keys.ofStanding(accountId, keyId);
    const reply = (await link.ask('standing', names, clock.arguments())) as StateReply;
    const [kind, reported] = reply;
    if (kind !== replyKinds.unknown) {
      const { nowMs, usage, penalty, aheadMs, epoch, strikes } = stateOf(reply);
      clock.hear(nowMs, aheadMs, epoch);
      const verdict = standing(usage, penalty, quota, nowMs);
      const bans = banStatus(penalty, strikes, rules.ban, nowMs);
      return { verdict, bans, versions: versions.applyRedis(shard, versionsOf(reported)) };
    }
    await reconciliation.reconcile(accountId);
  }
  throw discarding();
}

/**
 * Returns the versions from any available shard, or the fallback versions while Redis is down. Rejects with
 * `Overloaded` if too many requests are queued.
 */
export async function currentVersions({ servers, versions }: RedisContext): Promise<Versions> {
  const shard = servers.anyAvailable();
  if (shard === undefined) return versions.fallback();
  return shard.shared(
    () => shard.exchangeVersions(versions, (...command) => shard.link.ask(...command), false),
    async () => versions.fallback(),
  );
}
