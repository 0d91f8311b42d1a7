import type { Clock } from '../../domain/clock.ts';
import {
  admitted,
  banned,
  daySeconds,
  exhausted,
  type LimitRules,
  minuteSeconds,
  peek,
  type Usage,
  unused,
  type Verdict,
  type Window,
  type WindowState,
} from '../../domain/limit.ts';
import type { Notice } from '../breaker.ts';
import {
  type Admission,
  type Ban,
  type Caller,
  type FailureVerdict,
  type LimitStore,
  StorageUnavailable,
  type Versions,
} from '../storage.ts';
import { AloneVersions } from './alone.ts';
import { RedisClock } from './clock.ts';
import { Introductions, type Memory } from './introductions.ts';
import { RedisKeys } from './keys.ts';
import { RedisLink } from './link.ts';
import { Mirror } from './mirror.ts';
import { kinds, scriptTexts } from './scripts.ts';

export interface RedisLimitsOptions {
  readonly url: string;
  /** Begins every key in Redis. */
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly memory: Memory;
  /** Whether this process answers requests. */
  readonly serving: boolean;
  readonly notice: Notice;
}

/**
 * Limits shared by all instances: Redis decides by its own clock, in one round trip that also brings the versions.
 * When it does not answer, this instance decides alone, by the same law, from what it last knew.
 */
export class RedisLimits implements LimitStore, AsyncDisposable {
  readonly #clock: RedisClock;
  readonly #rules: LimitRules;
  readonly #notice: Notice;
  readonly #keys: RedisKeys;
  readonly #link: RedisLink;
  readonly #mirror: Mirror;
  readonly #introductions: Introductions;
  readonly #alone = new AloneVersions();
  #seenCallers = 0;
  /** Whether something may have been written that Redis was not told of. */
  #mayOwe: boolean;

  constructor({ url, prefix, timeoutMs, clock, rules, memory, serving, notice }: RedisLimitsOptions) {
    // The process before this one may have ended between a commit and its word.
    this.#mayOwe = serving;
    this.#notice = notice;
    this.#clock = new RedisClock(clock);
    this.#rules = rules;
    this.#keys = new RedisKeys(prefix);
    this.#mirror = new Mirror(rules);
    this.#link = new RedisLink({
      url,
      timeoutMs,
      scripts: scriptTexts(rules.ban),
      notice: (text) => {
        notice(text);
        if (this.#link.trouble === undefined) void this.#introductions.tellAll();
      },
      onConnect: async (run) => {
        if (this.#mayOwe) await run('announce', [this.#keys.callers, this.#keys.pets], []);
      },
    });
    this.#introductions = new Introductions({
      run: (...command) => this.#link.run(...command),
      keys: this.#keys,
      mirror: this.#mirror,
      memory,
      timeoutMs,
      time: () => this.#clock.arguments(),
    });
  }

  /** Connects; a Redis that is not there does not keep the service from starting. */
  async open(): Promise<void> {
    await this.#link.open();
    this.#introductions.start();
  }

  /** Why Redis does not work; undefined when it does. Asks it. */
  async trouble(): Promise<string | undefined> {
    await this.versions();
    return this.#link.trouble;
  }

  /** Tells every instance that something changed. When Redis cannot be told, resolves once none relies on it. */
  async announce(what: keyof Versions): Promise<void> {
    try {
      await this.#link.run('announce', [this.#keys[what]], []);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      this.#mayOwe = true;
      if (what === 'pets') return;
      this.#notice('Redis could not be told of a change; an instance that reaches it may notice late');
      await this.#alone.callersReadBefore();
    }
  }

  async versions(): Promise<Versions> {
    return this.#shared(
      async () => {
        const answer = await this.#link.run('versions', [this.#keys.callers, this.#keys.pets], []);
        const [callers = 0, pets = 0] = answer as number[];
        return { callers, pets };
      },
      async () => this.#alone.next(),
    );
  }

  take(caller: Caller, callersVersion: number): Promise<Admission> {
    return this.#shared(
      () => this.#takeShared(caller, callersVersion),
      () => this.#takeAlone(caller, callersVersion),
    );
  }

  refund(caller: Caller, taken: Verdict): Promise<Verdict> {
    return this.#shared(
      async () => {
        const keys = [this.#keys.usage(caller.accountId), this.#keys.clock];
        const opened = [taken.minute.resetAt - minuteSeconds, taken.day.resetAt - daySeconds];
        const args = [...opened, ...this.#clock.arguments()];
        const answer = await this.#link.run('refund', keys, args);
        const [nowMs = 0, ...windows] = answer as number[];
        const usage = usageOf(windows);
        this.#mirror.learnUsage(caller.accountId, withoutUnopened(usage));
        return admitted(usage, caller.quota, nowMs);
      },
      async () => this.#mirror.refund(caller, taken, this.#clock.now()),
    );
  }

  fail(address: string): Promise<FailureVerdict> {
    return this.#shared(
      async () => (await this.#failures(address, 1)) as FailureVerdict,
      async () => this.#mirror.fail(address, this.#clock.now()),
    );
  }

  failUnder(address: string, callersVersion: number): Promise<FailureVerdict | undefined> {
    return this.#shared(
      () => this.#failures(address, 1, callersVersion),
      async () => {
        const isFresh = this.#alone.isFresh(callersVersion);
        return isFresh ? this.#mirror.fail(address, this.#clock.now()) : undefined;
      },
    );
  }

  peek(address: string): Promise<WindowState> {
    return this.#shared(
      async () => ((await this.#failures(address, 0)) as FailureVerdict).state,
      async () => this.#mirror.peek(address, this.#clock.now()),
    );
  }

  async bans(): Promise<Ban[]> {
    const { bans: listed, clock } = this.#keys;
    const answer = (await this.#link.run('bans', [listed, clock], this.#clock.arguments())) as string[];
    const bans: Ban[] = [];
    for (let index = 0; index < answer.length; index += 2) {
      const [keyId, , level] = String(answer[index]).split(':').map(Number);
      bans.push({ keyId: keyId ?? 0, bannedUntil: Number(answer[index + 1]), level: level ?? 0 });
    }
    return bans.sort((one, other) => one.keyId - other.keyId);
  }

  async lift(keyId: number): Promise<boolean> {
    const { bans, callers, clock, prefix } = this.#keys;
    const lifted = await this.#link.run(
      'lift',
      [bans, callers, clock],
      [keyId, prefix, ...this.#clock.arguments()],
    );
    await this.#introductions.forgetBan(keyId);
    return lifted === 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#introductions[Symbol.asyncDispose]();
    this.#link[Symbol.dispose]();
  }

  /** What Redis says; what this instance says alone, when Redis does not. */
  async #shared<T>(together: () => Promise<T>, alone: () => Promise<T>): Promise<T> {
    if (this.#link.trouble !== undefined) return alone();
    try {
      return await together();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      return alone();
    }
  }

  async #takeShared(caller: Caller, callersVersion: number): Promise<Admission> {
    const { accountId, keyId, quota } = caller;
    const keys = this.#keys.ofTake(accountId, keyId);
    const args = [
      callersVersion,
      quota.perMinute,
      quota.perDay,
      `${keyId}:${accountId}`,
      ...this.#clock.arguments(),
    ];
    // Commands of one connection are done in order: what Redis is told here it knows when it judges.
    if (this.#mirror.isUntold(accountId)) void this.#introductions.tell(accountId);
    let answer = (await this.#link.run('take', keys, args)) as number[];
    if (answer[0] === kinds.unknown) {
      await this.#introductions.introduce(accountId, keyId);
      answer = (await this.#link.run('take', keys, args)) as number[];
    }
    return this.#read(caller, answer);
  }

  #read(caller: Caller, answer: readonly number[]): Admission {
    const [kind, callers = 0, pets = 0, nowMs = 0] = answer;
    const versions = { callers, pets };
    if (callers !== this.#seenCallers) this.#mirror.forgetConducts();
    this.#seenCallers = callers;
    if (kind === kinds.unknown) throw new StorageUnavailable('Redis forgets accounts at once');
    if (kind === kinds.stale) return { verdict: undefined, versions };

    const usage = usageOf(answer.slice(4, 8));
    const [episodeFrom = 0, episodeUntil = 0, bannedUntil = 0, banLevel = 0, ahead = 0, epoch = 0] =
      answer.slice(8);
    this.#clock.hear(nowMs, ahead, epoch);
    const conduct = { episodeFrom, episodeUntil, strikes: [], bannedUntil, banLevel };
    this.#mirror.learnUsage(caller.accountId, withoutUnopened(usage));
    this.#mirror.learnConduct(caller.keyId, conduct);
    if (kind === kinds.newly_banned) this.#introductions.saveBan(caller, conduct, 'redis');
    if (kind === kinds.admitted) return { verdict: admitted(usage, caller.quota, nowMs), versions };
    if (kind === kinds.exhausted) return { verdict: exhausted(usage, caller.quota, nowMs), versions };
    return { verdict: banned(usage, conduct, caller.quota, nowMs), versions };
  }

  async #takeAlone(caller: Caller, callersVersion: number): Promise<Admission> {
    const versions = this.#alone.next();
    if (!this.#alone.isFresh(callersVersion)) return { verdict: undefined, versions };
    if (!this.#mirror.knows(caller.accountId))
      await this.#introductions.recall(caller.accountId, caller.keyId);
    const { verdict, newBan } = this.#mirror.take(caller, this.#clock.now());
    if (newBan !== undefined) this.#introductions.saveBan(caller, newBan, 'alone');
    return { verdict, versions };
  }

  /** Undefined when callers have another version than the one asked for. */
  async #failures(
    address: string,
    count: 0 | 1,
    callersVersion: number | 'any' = 'any',
  ): Promise<FailureVerdict | undefined> {
    const { callers, clock } = this.#keys;
    const keys = [this.#keys.failures(address), clock, callers];
    const args = [this.#rules.failuresPerMinute, count, callersVersion, ...this.#clock.arguments()];
    const answer = await this.#link.run('fail', keys, args);
    if (!Array.isArray(answer)) return undefined;
    const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = answer as number[];
    const window = { openedAt, count: counted };
    this.#mirror.learnAddress(address, window);
    return { state: peek(window, this.#rules.failuresPerMinute, nowMs), refused: refused === 1 };
  }
}

function usageOf(windows: readonly number[]): Usage {
  const [minuteOpened = 0, minuteCount = 0, dayOpened = 0, dayCount = 0] = windows;
  return {
    minute: { openedAt: minuteOpened, count: minuteCount },
    day: { openedAt: dayOpened, count: dayCount },
  };
}

/** Only counted requests open windows. */
function withoutUnopened({ minute, day }: Usage): Usage {
  const opened = (window: Window) => (window.count > 0 ? window : unused.minute);
  return { minute: opened(minute), day: opened(day) };
}
