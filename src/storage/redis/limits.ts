import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../domain/clock.ts';
import {
  admitted,
  banned,
  daySeconds,
  exhausted,
  type LimitRules,
  minuteSeconds,
  type Verdict,
  type WindowState,
} from '../../domain/limit.ts';
import { type Resource, resources, type Versions } from '../../domain/resources.ts';
import { Overloaded } from '../concurrency-limit.ts';
import type { Notice } from '../outage.ts';
import { PeriodicTask } from '../periodic-task.ts';
import { lookEveryMs, type SharedVersions, staleAtMostMs } from '../shared-versions.ts';
import {
  type Admission,
  type Ban,
  type Caller,
  type FailureVerdict,
  type LimitStore,
  StorageUnavailable,
} from '../storage.ts';
import { AddressFailures } from './address-failures.ts';
import { type StateAnswer, stateOf, usageOf, versionsOf, withoutUnopened } from './answers.ts';
import { BanList } from './ban-list.ts';
import { RedisClock } from './clock.ts';
import { RedisKeys } from './keys.ts';
import { NoAnswer, RedisLink, type Run } from './link.ts';
import { LocalLimits } from './local-limits.ts';
import { discarding, mostTries, Reconciliation } from './reconciliation.ts';
import { kinds, scriptTexts } from './scripts.ts';
import { SnapshotStore, type Snapshots } from './snapshot-store.ts';
import { Standings } from './standings.ts';

export interface RedisLimitsOptions {
  readonly url: string;
  /** Begins every key in Redis. */
  readonly prefix: string;
  /** Names this process in Redis: 8 bytes that no other process has. */
  readonly process: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly snapshots: Snapshots;
  readonly versions: SharedVersions;
  /** Whether this process answers requests. */
  readonly serving: boolean;
  readonly notice: Notice;
}

/**
 * Limits shared by all instances: Redis decides by its own clock, in one round trip that also brings the versions.
 * When it does not answer, this instance decides on its own, by the same rules, from what it last knew.
 */
export class RedisLimits implements LimitStore, AsyncDisposable {
  readonly #clock: RedisClock;
  readonly #keys: RedisKeys;
  /** To Redis, and what is known of that. */
  readonly link: RedisLink;
  readonly #localLimits: LocalLimits;
  readonly #snapshotStore: SnapshotStore;
  readonly #reconciliation: Reconciliation;
  readonly #failures: AddressFailures;
  readonly #bans: BanList;
  readonly #standings: Standings;
  readonly #versions: SharedVersions;
  readonly #serving: boolean;
  #polling: PeriodicTask | undefined;
  readonly #process: string;
  /** The number of the last request Redis was asked to count, so that one that is given up for late counts once. */
  #number = 0;

  constructor(options: RedisLimitsOptions) {
    const { url, prefix, timeoutMs, clock, rules, snapshots, serving, notice } = options;
    this.#process = options.process;
    this.#versions = options.versions;
    this.#serving = serving;
    this.#clock = new RedisClock(clock);
    this.#keys = new RedisKeys(prefix);
    this.#localLimits = new LocalLimits(rules);
    this.#snapshotStore = new SnapshotStore(snapshots, this.#localLimits);
    this.link = new RedisLink({
      url,
      timeoutMs,
      scripts: scriptTexts(rules.ban),
      notice: (...notices) => {
        notice(...notices);
        if (this.link.trouble === undefined) void this.#reconciliation.reportAll();
      },
      onConnect: (run) => this.#exchangeVersions(run),
    });
    this.#reconciliation = new Reconciliation({
      run: (...command) => this.link.run(...command),
      keys: this.#keys,
      localLimits: this.#localLimits,
      snapshotStore: this.#snapshotStore,
      process: this.#process,
      nextNumber: () => ++this.#number,
      time: () => this.#clock.arguments(),
    });
    this.#failures = new AddressFailures({
      link: this.link,
      keys: this.#keys,
      localLimits: this.#localLimits,
      clock: this.#clock,
      limit: rules.failuresPerMinute,
    });
    this.#bans = new BanList({
      run: (...command) => this.link.run(...command),
      keys: this.#keys,
      snapshotStore: this.#snapshotStore,
      time: () => this.#clock.arguments(),
    });
    this.#standings = new Standings({
      link: this.link,
      keys: this.#keys,
      clock: this.#clock,
      versions: this.#versions,
      localLimits: this.#localLimits,
      reconciliation: this.#reconciliation,
    });
  }

  /** Connects; a Redis that is not there does not keep the service from starting. */
  async open(): Promise<void> {
    await this.link.open();
    this.#snapshotStore.start();
    if (this.#serving) {
      this.#polling = new PeriodicTask(lookEveryMs, () =>
        this.#exchangeVersions((...command) => this.link.run(...command)),
      );
    }
  }

  /**
   * Tells every instance of a change, by its version in PostgreSQL, 0 if that is not known. When Redis cannot be told
   * of changed callers, resolves once every instance had the time to see it in PostgreSQL.
   */
  async announce(what: Resource, version: number): Promise<void> {
    try {
      await this.link.run('announce', [this.#keys.version(what)], [version]);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (what === 'callers') await sleep(staleAtMostMs);
    }
  }

  async versions(): Promise<Versions> {
    return this.link.shared(
      () => this.#exchangeVersions((...command) => this.link.ask(...command)),
      async () => this.#versions.fallback(),
    );
  }

  take(caller: Caller, callersVersion: number): Promise<Admission> {
    if (this.link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
    return this.#takeFromRedis(caller, callersVersion);
  }

  standing(caller: Caller): Promise<{ verdict: Verdict; versions: Versions }> {
    return this.#standings.of(caller);
  }

  refund(caller: Caller, taken: Verdict): Promise<Verdict> {
    return this.link.shared(
      async () => {
        const keys = [this.#keys.usage(caller.accountId), this.#keys.clock];
        const opened = [taken.minute.resetAt - minuteSeconds, taken.day.resetAt - daySeconds];
        const answer = await this.link.run('refund', keys, [...opened, ...this.#clock.arguments()]);
        const [nowMs = 0, ...windows] = answer as number[];
        const usage = usageOf(windows);
        this.#localLimits.learnUsage(caller.accountId, withoutUnopened(usage));
        return admitted(usage, caller.quota, nowMs);
      },
      async () => this.#localLimits.refund(caller, taken, this.#clock.now()),
    );
  }

  fail(address: string): Promise<FailureVerdict> {
    return this.#failures.fail(address);
  }

  failUnder(address: string, callersVersion: number): Promise<FailureVerdict | undefined> {
    const { now, redis } = this.#versions;
    const known = callersVersion === now.callers ? redis.callers : undefined;
    return this.#failures.failUnder(address, known, () => this.#versions.isFresh(callersVersion));
  }

  peek(address: string): Promise<WindowState> {
    return this.#failures.peek(address);
  }

  bans(): Promise<Ban[]> {
    return this.#bans.list(this.#second());
  }

  lift(keyId: number): Promise<boolean> {
    return this.#bans.lift(keyId, this.#second());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#polling?.[Symbol.asyncDispose]();
    await this.#snapshotStore[Symbol.asyncDispose]();
    this.link[Symbol.dispose]();
  }

  /** Compares versions with Redis: either side learns what it did not know. */
  async #exchangeVersions(run: Run): Promise<Versions> {
    const { postgres } = this.#versions;
    const least = resources.map((resource) => postgres[resource]);
    const told = await run('versions', this.#keys.versions, least);
    return this.#versions.hearRedis(versionsOf(told as number[]));
  }

  async #takeFromRedis(caller: Caller, callersVersion: number): Promise<Admission> {
    const { accountId, keyId, quota } = caller;
    const keys = this.#keys.ofTake(accountId, keyId);
    for (let tries = 0; tries < mostTries; tries++) {
      const { now, redis } = this.#versions;
      if (callersVersion !== now.callers) return { verdict: undefined, versions: now };
      // Commands of one connection are done in order: what Redis is told here it knows when it checks.
      if (this.#localLimits.isUnreported(accountId)) void this.#reconciliation.report(accountId);
      const number = ++this.#number;
      const args = [redis.callers, quota.perMinute, quota.perDay, `${keyId}:${accountId}`];
      let answer: StateAnswer;
      try {
        const ask = this.link.ask('take', keys, [...args, this.#process, number, ...this.#clock.arguments()]);
        answer = (await ask) as StateAnswer;
      } catch (error) {
        if (!(error instanceof StorageUnavailable) || error instanceof Overloaded) throw error;
        if (error instanceof NoAnswer) this.#localLimits.doubt(accountId, number);
        return this.#takeLocally(caller, callersVersion);
      }
      if (answer[0] === kinds.unknown) {
        const decided = await this.#reconciled(caller, callersVersion);
        if (decided !== undefined) return decided;
      } else if (answer[0] !== kinds.overtaken) return this.#read(caller, answer);
    }
    throw discarding();
  }

  /** The decision when Redis cannot be given back what it lost of the account; undefined when it is. */
  async #reconciled(caller: Caller, callersVersion: number): Promise<Admission | undefined> {
    try {
      await this.#reconciliation.reconcile(caller.accountId);
      return undefined;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (this.link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
      // Neither Redis nor the snapshot store can tell: who is not known here either has to come again.
      if (!this.#localLimits.knows(caller.accountId)) throw error;
      return { verdict: this.#decide(caller), versions: this.#versions.now };
    }
  }

  #read(caller: Caller, answer: StateAnswer): Admission {
    const [kind, told] = answer;
    const versions = this.#versions.hearRedis(versionsOf(told));
    if (kind === kinds.stale) return { verdict: undefined, versions };

    const { nowMs, usage, penalty, aheadMs, epoch } = stateOf(answer);
    this.#clock.hear(nowMs, aheadMs, epoch);
    this.#localLimits.learnUsage(caller.accountId, withoutUnopened(usage));
    this.#localLimits.learnPenalty(caller.keyId, penalty);
    if (kind === kinds.newly_banned) this.#reconciliation.saveBan(caller, penalty, 'redis');
    if (kind === kinds.admitted) return { verdict: admitted(usage, caller.quota, nowMs), versions };
    if (kind === kinds.exhausted) return { verdict: exhausted(usage, caller.quota, nowMs), versions };
    return { verdict: banned(usage, penalty, caller.quota, nowMs), versions };
  }

  async #takeLocally(caller: Caller, callersVersion: number): Promise<Admission> {
    const versions = this.#versions.fallback();
    if (!this.#versions.isFresh(callersVersion)) return { verdict: undefined, versions };
    await this.#reconciliation.recall(caller);
    return { verdict: this.#decide(caller), versions };
  }

  #decide(caller: Caller): Verdict {
    const { verdict, newBan } = this.#localLimits.take(caller, this.#clock.now());
    if (newBan !== undefined) this.#reconciliation.saveBan(caller, newBan, 'fallback');
    return verdict;
  }

  #second(): number {
    return Math.floor(this.#clock.now() / 1_000);
  }
}
