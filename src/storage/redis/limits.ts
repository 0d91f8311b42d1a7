import { setTimeout as sleep } from 'node:timers/promises';
import {
  admitted,
  banned,
  daySeconds,
  exhausted,
  type KeyPenalty,
  minuteSeconds,
  type Verdict,
  type WindowState,
} from '../../domain/limit.ts';
import { type Resource, resources, type Versions } from '../../domain/resources.ts';
import type { LimitSnapshots } from '../limit-snapshots.ts';
import { PeriodicTask } from '../periodic-task.ts';
import { lookEveryMs, type SharedVersions, staleAtMostMs } from '../shared-versions.ts';
import {
  type Admission,
  type Ban,
  type Caller,
  type FailureVerdict,
  type LimitStore,
  StorageUnavailable,
  type StoreSettings,
} from '../storage.ts';
import { countFailure, countFailureUnder, peekFailures } from './address-failures.ts';
import { type StateAnswer, stateOf, usageOf, versionsOf, withoutUnopened } from './answers.ts';
import { BanKeeper } from './ban-keeper.ts';
import { liftBan, listBans } from './ban-list.ts';
import { RedisClock } from './clock.ts';
import { Overloaded } from './concurrency-limit.ts';
import type { RedisContext } from './context.ts';
import { RedisKeys } from './keys.ts';
import { LiftedBans } from './lifted-bans.ts';
import { NoAnswer, RedisLink, type Run } from './link.ts';
import { LocalLimits } from './local-limits.ts';
import { discarding, mostTries, Reconciliation } from './reconciliation.ts';
import { kinds, scriptTexts } from './scripts.ts';
import { SnapshotStore } from './snapshot-store.ts';
import { standingOf } from './standings.ts';

interface RedisLimitsOptions extends Pick<StoreSettings, 'clock' | 'rules' | 'serving' | 'notice'> {
  readonly url: string;
  readonly prefix: string;
  readonly process: RedisContext['process'];
  readonly timeoutMs: number;
  readonly snapshots: LimitSnapshots;
  readonly versions: SharedVersions;
}

/** Limits shared by all instances. While Redis is down, this one decides alone, by the same rules, from the last known state. */
export class RedisLimits implements LimitStore, AsyncDisposable {
  readonly link: RedisLink;
  readonly #context: RedisContext;
  readonly #reconciliation: Reconciliation;
  readonly #banKeeper: BanKeeper;
  readonly #liftedBans: LiftedBans;
  readonly #serving: boolean;
  #polling: PeriodicTask | undefined;

  constructor({ serving, prefix, clock, rules, versions, process, ...options }: RedisLimitsOptions) {
    this.#serving = serving;
    this.link = new RedisLink({
      url: options.url,
      timeoutMs: options.timeoutMs,
      scripts: scriptTexts(rules.ban),
      notice: (...notices) => {
        options.notice(...notices);
        if (this.link.trouble === undefined) void this.#recovered();
      },
      onConnect: (run) => this.#exchangeVersions(run),
    });
    const localLimits = new LocalLimits(rules);
    let number = 0;
    this.#context = {
      link: this.link,
      keys: new RedisKeys(prefix),
      clock: new RedisClock(clock),
      rules,
      versions,
      localLimits,
      snapshotStore: new SnapshotStore(options.snapshots, localLimits),
      process,
      nextNumber: () => ++number,
    };
    this.#reconciliation = new Reconciliation(this.#context);
    this.#banKeeper = new BanKeeper(this.#context);
    this.#liftedBans = new LiftedBans(this.#context);
  }

  /** Connects. The service starts even if Redis is down. */
  async open(): Promise<void> {
    await this.link.open();
    this.#context.snapshotStore.start();
    if (this.#serving) {
      this.#polling = new PeriodicTask(lookEveryMs, async () => {
        await this.#exchangeVersions((...command) => this.link.run(...command));
        await this.#liftedBans.apply();
      });
      this.#banKeeper.start();
    }
  }

  /**
   * Announces a change to every instance by its version in PostgreSQL, 0 if that is unknown. If Redis is down and
   * callers changed, resolves after every instance has had the time to read the version from PostgreSQL.
   */
  async announce(what: Resource, version: number): Promise<void> {
    try {
      await this.link.run('announce', [this.#context.keys.version(what)], [version]);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (what === 'callers') await sleep(staleAtMostMs);
    }
  }

  /** Resolves when every instance has the versions that this one has from PostgreSQL, or has had the time to read them there. */
  async spread(): Promise<void> {
    const { redis, postgres } = this.#context.versions;
    if (resources.every((resource) => postgres[resource] <= redis[resource])) return;
    try {
      await this.#exchangeVersions((...command) => this.link.run(...command));
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      await sleep(staleAtMostMs);
    }
  }

  async versions(): Promise<Versions> {
    return this.link.shared(
      () => this.#exchangeVersions((...command) => this.link.ask(...command)),
      async () => this.#context.versions.fallback(),
    );
  }

  take(caller: Caller, callersVersion: number): Promise<Admission> {
    if (this.link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
    return this.#takeFromRedis(caller, callersVersion);
  }

  standing(caller: Caller): Promise<{ verdict: Verdict; versions: Versions }> {
    return standingOf(this.#context, this.#reconciliation, caller);
  }

  refund(caller: Caller, taken: Verdict): Promise<Verdict> {
    const { keys, clock, localLimits } = this.#context;
    return this.link.shared(
      async () => {
        const names = [keys.usage(caller.accountId), keys.clock];
        const opened = [taken.minute.resetAt - minuteSeconds, taken.day.resetAt - daySeconds];
        const answer = await this.link.run('refund', names, [...opened, ...clock.arguments()]);
        const [nowMs = 0, ...windows] = answer as number[];
        const usage = usageOf(windows);
        localLimits.learnUsage(caller.accountId, withoutUnopened(usage));
        return admitted(usage, caller.quota, nowMs);
      },
      async () => localLimits.refund(caller, taken, clock.now()),
    );
  }

  fail(address: string): Promise<FailureVerdict> {
    return countFailure(this.#context, address);
  }

  failUnder(address: string, callersVersion: number): Promise<FailureVerdict | undefined> {
    return countFailureUnder(this.#context, address, callersVersion);
  }

  peek(address: string): Promise<WindowState> {
    return peekFailures(this.#context, address);
  }

  bans(): Promise<Ban[]> {
    return listBans(this.#context);
  }

  lift(keyId: number): Promise<boolean> {
    return liftBan(this.#context, keyId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#polling?.[Symbol.asyncDispose]();
    await this.#banKeeper[Symbol.asyncDispose]();
    await this.#context.snapshotStore[Symbol.asyncDispose]();
    this.link[Symbol.dispose]();
  }

  /** Brings Redis up to date after it was away: bans first, so that no request is admitted in between. */
  async #recovered(): Promise<void> {
    this.#liftedBans.forget();
    await Promise.allSettled([this.#liftedBans.apply(), this.#banKeeper.keepAll()]);
    await this.#reconciliation.reportAll();
  }

  /** Exchanges versions with Redis: each side adopts the newer ones of the other. */
  async #exchangeVersions(run: Run): Promise<Versions> {
    const { keys, versions } = this.#context;
    const { postgres } = versions;
    const least = resources.map((resource) => postgres[resource]);
    const told = await run('versions', keys.versions, least);
    return versions.hearRedis(versionsOf(told as number[]));
  }

  async #takeFromRedis(caller: Caller, callersVersion: number): Promise<Admission> {
    const { accountId, keyId, quota } = caller;
    const { keys, clock, versions, localLimits, process, nextNumber } = this.#context;
    const names = keys.ofTake(accountId, keyId);
    for (let tries = 0; tries < mostTries; tries++) {
      const { now, redis } = versions;
      if (callersVersion !== now.callers) return { verdict: undefined, versions: now };
      this.#reconciliation.reportFirst(accountId);
      const number = nextNumber();
      const args = [redis.callers, quota.perMinute, quota.perDay, `${keyId}:${accountId}`];
      let answer: StateAnswer;
      try {
        const ask = this.link.ask('take', names, [...args, process, number, ...clock.arguments()]);
        answer = (await ask) as StateAnswer;
      } catch (error) {
        if (!(error instanceof StorageUnavailable) || error instanceof Overloaded) throw error;
        if (error instanceof NoAnswer) localLimits.doubt(accountId, number);
        return this.#takeLocally(caller, callersVersion);
      }
      if (answer[0] === kinds.unknown) {
        const decided = await this.#reconciled(caller, callersVersion);
        if (decided !== undefined) return decided;
      } else if (answer[0] !== kinds.overtaken) return this.#read(caller, answer);
    }
    throw discarding();
  }

  /** Restores the account in Redis and returns undefined, or decides alone if that fails. */
  async #reconciled(caller: Caller, callersVersion: number): Promise<Admission | undefined> {
    try {
      await this.#reconciliation.reconcile(caller.accountId);
      return undefined;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (this.link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
      // Redis and the snapshots lack the state of the account. If this instance does, too, the client has to retry.
      const { localLimits, versions } = this.#context;
      if (!localLimits.knows(caller.accountId)) throw error;
      return { verdict: this.#decide(caller), versions: versions.now };
    }
  }

  #read(caller: Caller, answer: StateAnswer): Admission {
    const { clock, localLimits } = this.#context;
    const [kind, told] = answer;
    const versions = this.#context.versions.hearRedis(versionsOf(told));
    if (kind === kinds.stale) return { verdict: undefined, versions };

    const { nowMs, usage, penalty, aheadMs, epoch } = stateOf(answer);
    clock.hear(nowMs, aheadMs, epoch);
    localLimits.learnUsage(caller.accountId, withoutUnopened(usage));
    if (kind === kinds.newly_banned || kind === kinds.banned) {
      const isKnown = localLimits.penalty(caller.keyId).bannedUntil === penalty.bannedUntil;
      if (!isKnown) this.#keepBan(caller, penalty);
    }
    localLimits.learnPenalty(caller.keyId, penalty);
    if (kind === kinds.admitted) return { verdict: admitted(usage, caller.quota, nowMs), versions };
    if (kind === kinds.exhausted) return { verdict: exhausted(usage, caller.quota, nowMs), versions };
    return { verdict: banned(usage, penalty, caller.quota, nowMs), versions };
  }

  async #takeLocally(caller: Caller, callersVersion: number): Promise<Admission> {
    const { versions: shared } = this.#context;
    const versions = shared.fallback();
    if (!shared.isFresh(callersVersion)) return { verdict: undefined, versions };
    await this.#reconciliation.recall(caller);
    return { verdict: this.#decide(caller), versions };
  }

  #decide(caller: Caller): Verdict {
    const { verdict, newBan } = this.#context.localLimits.take(caller, this.#context.clock.now());
    if (newBan !== undefined) this.#keepBan(caller, newBan);
    return verdict;
  }

  #keepBan({ keyId, accountId }: Caller, { bannedUntil, banLevel: level }: KeyPenalty): void {
    this.#banKeeper.keep({ keyId, accountId, bannedUntil, level });
  }
}
