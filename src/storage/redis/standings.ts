import { standing, type Verdict } from '../../domain/limit.ts';
import type { Versions } from '../../domain/resources.ts';
import type { SharedVersions } from '../shared-versions.ts';
import type { Caller } from '../storage.ts';
import { type StateAnswer, stateOf, versionsOf } from './answers.ts';
import type { RedisClock } from './clock.ts';
import type { RedisKeys } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { LocalLimits } from './local-limits.ts';
import { discarding, mostTries, type Reconciliation } from './reconciliation.ts';
import { kinds } from './scripts.ts';

export interface StandingsOptions {
  readonly link: RedisLink;
  readonly keys: RedisKeys;
  readonly clock: RedisClock;
  readonly versions: SharedVersions;
  readonly localLimits: LocalLimits;
  readonly reconciliation: Reconciliation;
}

interface Standing {
  readonly verdict: Verdict;
  readonly versions: Versions;
}

/** How callers stand: what a request of theirs would be told, counting nothing. */
export class Standings {
  readonly #options: StandingsOptions;

  constructor(options: StandingsOptions) {
    this.#options = options;
  }

  of(caller: Caller): Promise<Standing> {
    return this.#options.link.shared(
      () => this.#inRedis(caller),
      () => this.#fallback(caller),
    );
  }

  async #inRedis({ accountId, keyId, quota }: Caller): Promise<Standing> {
    const { link, keys, clock, versions, localLimits, reconciliation } = this.#options;
    for (let tries = 0; tries < mostTries; tries++) {
      // Commands of one connection are done in order: what Redis is told here it knows when it answers.
      if (localLimits.isUnreported(accountId)) void reconciliation.report(accountId);
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

  async #fallback(caller: Caller): Promise<Standing> {
    const { clock, versions, localLimits, reconciliation } = this.#options;
    const now = versions.fallback();
    await reconciliation.recall(caller);
    return { verdict: localLimits.standing(caller, clock.now()), versions: now };
  }
}
