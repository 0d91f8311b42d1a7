import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RedisUrls } from '../../domain/redis-urls.ts';
import { type Resource, resources, type Versions } from '../../domain/resources.ts';
import { maxStaleMs, pollIntervalMs, type SharedVersions } from '../../domain/shared-versions.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { PeriodicTask } from '../../outages/periodic-task.ts';
import {
  admittedVerdict,
  type BanRules,
  bannedVerdict,
  daySeconds,
  exhaustedVerdict,
  type KeyPenalty,
  type LimitRules,
  minuteSeconds,
  type Verdict,
  type WindowState,
} from '../limit.ts';
import type { Admission, Ban, FailureVerdict, LimitedCaller, LimitStore, Standing } from '../limit-store.ts';
import type { LimitSnapshots } from '../snapshots.ts';
import { countFailure, countFailureAtVersion, peekFailures } from './address-failures.ts';
import { BanKeeper } from './ban-keeper.ts';
import { LiftedBans, liftBan, listBans } from './ban-list.ts';
import { OverloadedError } from './concurrency-limit.ts';
import type { RedisContext } from './context.ts';
import { NoReplyError } from './link.ts';
import { LocalLimits } from './local-limits.ts';
import { discardedStateError, maxAttempts, Reconciliation } from './reconciliation.ts';
import {
  closeEmptyWindows,
  parseState,
  parseUsage,
  parseVersions,
  type StateReply,
} from './script-replies.ts';
import { buildScripts, replyKinds } from './scripts.ts';
import { RedisServers } from './servers.ts';
import type { Shard } from './shard.ts';
import { SnapshotStore } from './snapshot-store.ts';
import { readStanding, readVersions } from './standings.ts';

interface RedisLimitsOptions {
  readonly clock: Clock;
  readonly rules: LimitRules;
  /** Whether this process serves requests. */
  readonly isServing: boolean;
  readonly notice: Notify;
  readonly urls: RedisUrls;
  readonly prefix: string;
  readonly process: RedisContext['process'];
  readonly timeoutMs: number;
  readonly snapshots: LimitSnapshots;
  readonly versions: SharedVersions;
  readonly expectShared: RedisServers['expectShared'];
}

/**
 * Limits shared by all instances. While Redis is down, this instance applies the same rules to the last known state.
 */
export class RedisLimits implements LimitStore, AsyncDisposable {
  readonly servers: RedisServers;
  readonly banRules: BanRules;
  readonly #context: RedisContext;
  readonly #reconciliation: Reconciliation;
  readonly #banKeeper: BanKeeper;
  readonly #liftedBans: LiftedBans;
  readonly #isServing: boolean;
  #polling: PeriodicTask | undefined;
  #turns = 0;

  constructor({ isServing, prefix, clock, rules, versions, process, ...options }: RedisLimitsOptions) {
    this.#isServing = isServing;
    this.banRules = rules.ban;
    this.servers = new RedisServers({
      ...options,
      prefix,
      clock,
      versions,
      scripts: buildScripts(rules.ban),
      onRecovery: () => void this.#recovered(),
    });
    const localLimits = new LocalLimits(rules);
    let number = 0;
    this.#context = {
      servers: this.servers,
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
    await this.servers.open();
    this.#context.snapshotStore.start();
    if (this.#isServing) {
      this.#polling = new PeriodicTask(pollIntervalMs, async () => {
        const behind = this.#behind().filter(({ link }) => link.trouble === undefined);
        const shards = new Set([...behind, ...this.servers.inTurn(++this.#turns)]);
        await Promise.allSettled(this.#exchangeVersions(shards));
        await this.#liftedBans.apply();
      });
      this.#banKeeper.start();
    }
  }

  /**
   * Announces a change to every instance. `version` is the change's version in PostgreSQL, or 0 if unknown. If Redis is
   * down and `callers` changed, resolves when every instance has had enough time to read the version from PostgreSQL.
   */
  async announce(what: Resource, version: number): Promise<void> {
    this.#context.versions.required.raise(what, version);
    const announced = this.servers.shards.map((shard) => shard.announce(what, version));
    if (await areDone(announced)) return;
    if (what === 'callers') await sleep(maxStaleMs);
  }

  /**
   * Resolves when every instance has received the versions that this instance read from PostgreSQL, or has had enough
   * time to read them from PostgreSQL.
   */
  async propagate(): Promise<void> {
    if (!(await areDone(this.#exchangeVersions(this.#behind())))) await sleep(maxStaleMs);
  }

  versions(): Promise<Versions> {
    return readVersions(this.#context);
  }

  knownVersions(): Versions {
    return this.#context.versions.now;
  }

  take(caller: Caller, callersVersion: number): Promise<Admission> {
    this.servers.expectShared();
    const { link } = this.servers.shardFor(caller.accountId);
    if (link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
    return this.#takeFromRedis(caller, callersVersion);
  }

  standing(caller: LimitedCaller): Promise<Standing & { versions: Versions }> {
    return readStanding(this.#context, this.#reconciliation, caller);
  }

  refund(caller: Caller, taken: Verdict): Promise<Verdict> {
    const { localLimits } = this.#context;
    const shard = this.servers.shardFor(caller.accountId);
    const { link, keys, clock } = shard;
    return shard.withFallback(
      async () => {
        const names = [keys.usage(caller.accountId), keys.clock];
        const opened = [taken.minute.resetAt - minuteSeconds, taken.day.resetAt - daySeconds];
        const reply = await link.run('refund', names, [...opened, ...clock.arguments()]);
        const [nowMs = 0, ...windows] = reply as number[];
        const usage = parseUsage(windows);
        localLimits.learnUsage(caller.accountId, closeEmptyWindows(usage));
        return admittedVerdict(usage, caller.quota, nowMs);
      },
      async () => localLimits.refund(caller, taken, clock.now()),
    );
  }

  fail(address: string): Awaitable<FailureVerdict> {
    return countFailure(this.#context, address);
  }

  failUnder(address: string, callersVersion: number): Promise<FailureVerdict | undefined> {
    return countFailureAtVersion(this.#context, address, callersVersion);
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
    await this.servers[Symbol.asyncDispose]();
  }

  /** Updates Redis after an outage. Bans are restored first, so that no request with a banned key is admitted. */
  async #recovered(): Promise<void> {
    this.#liftedBans.forget();
    await Promise.allSettled([this.#liftedBans.apply(), this.#banKeeper.keepAll()]);
    await this.#reconciliation.reportAll();
  }

  /** Returns the shards that may lack a change made in PostgreSQL. */
  #behind(): readonly Shard[] {
    const { postgres } = this.#context.versions;
    const isNewer = ({ lastReported }: Shard) =>
      resources.some((resource) => postgres[resource] > lastReported[resource]);
    return this.servers.shards.filter(isNewer);
  }

  #exchangeVersions(shards: Iterable<Shard>): Promise<unknown>[] {
    return Array.from(shards, (shard) => shard.exchangeVersions(this.#context.versions));
  }

  async #takeFromRedis(caller: Caller, callersVersion: number): Promise<Admission> {
    const { accountId, keyId, quota } = caller;
    const { versions, localLimits, process, nextNumber } = this.#context;
    const shard = this.servers.shardFor(accountId);
    const { link, keys, clock } = shard;
    for (let tries = 0; tries < maxAttempts; tries++) {
      const { now } = versions;
      if (callersVersion !== now.callers) return { verdict: undefined, versions: now };
      this.#reconciliation.reportFirst(accountId);
      const number = nextNumber();
      const args = [shard.lastReported.callers, quota.perMinute, quota.perDay, `${keyId}:${accountId}`];
      let reply: StateReply;
      try {
        const ask = link.ask('take', keys.ofTake(accountId, keyId), [
          ...args,
          process,
          number,
          ...clock.arguments(),
        ]);
        reply = (await ask) as StateReply;
      } catch (error) {
        if (!(error instanceof StorageUnavailable) || error instanceof OverloadedError) throw error;
        if (error instanceof NoReplyError) localLimits.doubt(accountId, number);
        return this.#takeLocally(caller, callersVersion);
      }
      if (reply[0] === replyKinds.unknown) {
        versions.applyRedis(shard, parseVersions(reply[1]));
        const decided = await this.#reconciled(caller, callersVersion);
        if (decided !== undefined) return decided;
      } else if (reply[0] !== replyKinds.overtaken) {
        const read = this.#read(caller, reply);
        // Another shard has already received the change.
        if (read.verdict !== undefined || read.versions.callers !== callersVersion) return read;
      }
    }
    throw discardedStateError();
  }

  /** Restores the account in Redis and returns undefined, or decides locally if the account cannot be restored. */
  async #reconciled(caller: Caller, callersVersion: number): Promise<Admission | undefined> {
    try {
      await this.#reconciliation.reconcile(caller.accountId);
      return undefined;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      const { link } = this.servers.shardFor(caller.accountId);
      if (link.trouble !== undefined) return this.#takeLocally(caller, callersVersion);
      // The account could not be restored in Redis. If this instance has no state for the account either, the client
      // must retry.
      const { localLimits, versions } = this.#context;
      if (!localLimits.knows(caller.accountId)) throw error;
      return { verdict: this.#decide(caller), versions: versions.now };
    }
  }

  #read(caller: Caller, reply: StateReply): Admission {
    const { localLimits } = this.#context;
    const shard = this.servers.shardFor(caller.accountId);
    const [kind, reported] = reply;
    const versions = this.#context.versions.applyRedis(shard, parseVersions(reported));
    if (kind === replyKinds.stale) return { verdict: undefined, versions };

    const { nowMs, usage, penalty, aheadMs, epoch } = parseState(reply);
    shard.clock.applyReply(nowMs, aheadMs, epoch);
    localLimits.learnUsage(caller.accountId, closeEmptyWindows(usage));
    if (kind === replyKinds.newly_banned || kind === replyKinds.banned) {
      const isKnown = localLimits.penalty(caller.keyId).bannedUntil === penalty.bannedUntil;
      if (!isKnown) this.#keepBan(caller, penalty);
    }
    localLimits.learnPenalty(caller.keyId, penalty);
    if (kind === replyKinds.admitted)
      return { verdict: admittedVerdict(usage, caller.quota, nowMs), versions };
    if (kind === replyKinds.exhausted)
      return { verdict: exhaustedVerdict(usage, caller.quota, nowMs), versions };
    const isNewBan = kind === replyKinds.newly_banned;
    return { verdict: bannedVerdict(usage, penalty, caller.quota, nowMs, isNewBan), versions };
  }

  async #takeLocally(caller: Caller, callersVersion: number): Promise<Admission> {
    const versions = await this.versions();
    const isFresh = versions.callers === callersVersion || this.#context.versions.isFresh(callersVersion);
    if (!isFresh) return { verdict: undefined, versions };
    await this.#reconciliation.loadSnapshot(caller);
    return { verdict: this.#decide(caller), versions };
  }

  #decide(caller: Caller): Verdict {
    const { clock } = this.servers.shardFor(caller.accountId);
    const { verdict, newBan } = this.#context.localLimits.take(caller, clock.now());
    if (newBan !== undefined) this.#keepBan(caller, newBan);
    return verdict;
  }

  #keepBan({ keyId, accountId }: Caller, { bannedUntil, banLevel: level }: KeyPenalty): void {
    this.#banKeeper.keep({ keyId, accountId, bannedUntil, level });
  }
}

/** Waits for Redis commands. Resolves with false if a command failed because Redis is unavailable. */
async function areDone(work: readonly Promise<unknown>[]): Promise<boolean> {
  const outcomes = await Promise.allSettled(work);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const mistake = reasons.find((reason) => !(reason instanceof StorageUnavailable));
  if (mistake !== undefined) throw mistake;
  return reasons.length === 0;
}
