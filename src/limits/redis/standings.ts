import type { Versions } from '../../domain/resources.ts';
import { banStatus } from '../ban-status.ts';
import { currentVerdict } from '../limit.ts';
import type { LimitedCaller, Standing } from '../limit-store.ts';
import type { RedisContext } from './context.ts';
import { discardedStateError, maxAttempts, type Reconciliation } from './reconciliation.ts';
import { parseState, parseVersions, type StateReply } from './script-replies.ts';
import { replyKinds } from './scripts.ts';

type Found = Standing & { readonly versions: Versions };

export function readStanding(
  context: RedisContext,
  reconciliation: Reconciliation,
  caller: LimitedCaller,
): Promise<Found> {
  const shard = context.servers.shardFor(caller.accountId);
  return shard.withFallback(
    () => standingInRedis(context, reconciliation, caller),
    async () => {
      const versions = await readVersions(context);
      await reconciliation.loadSnapshot(caller);
      return { ...context.localLimits.standing(caller, shard.clock.now()), versions };
    },
  );
}

async function standingInRedis(
  { servers, versions, rules }: RedisContext,
  reconciliation: Reconciliation,
  { accountId, keyId, quota }: LimitedCaller,
): Promise<Found> {
  const shard = servers.shardFor(accountId);
  const { link, keys, clock } = shard;
  for (let tries = 0; tries < maxAttempts; tries++) {
    reconciliation.reportFirst(accountId);
    const names = keys.ofStanding(accountId, keyId);
    const reply = (await link.ask('standing', names, clock.arguments())) as StateReply;
    const [kind, reported] = reply;
    if (kind !== replyKinds.unknown) {
      const { nowMs, usage, penalty, aheadMs, epoch, strikes } = parseState(reply);
      clock.applyReply(nowMs, aheadMs, epoch);
      const verdict = currentVerdict(usage, penalty, quota, nowMs);
      const bans = banStatus(penalty, strikes, rules.ban, nowMs);
      return { verdict, bans, versions: versions.applyRedis(shard, parseVersions(reported)) };
    }
    await reconciliation.reconcile(accountId);
  }
  throw discardedStateError();
}

/**
 * Returns the versions from any available shard, or the fallback versions while Redis is down. Rejects with
 * `OverloadedError` if too many requests are queued.
 */
export async function readVersions({ servers, versions }: RedisContext): Promise<Versions> {
  const shard = servers.anyAvailable();
  if (shard === undefined) return versions.fallback();
  return shard.withFallback(
    () => shard.exchangeVersions(versions, (...command) => shard.link.ask(...command), false),
    async () => versions.fallback(),
  );
}
