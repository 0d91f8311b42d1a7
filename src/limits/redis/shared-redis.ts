import { setTimeout as sleep } from 'node:timers/promises';
import { fatalTroubles } from '../../domain/troubles.ts';
import { StorageUnavailable, StoreUnusableError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { PeriodicTask } from '../../outages/periodic-task.ts';
import type { RedisReading, RedisReadings } from '../redis-readings.ts';

interface SharedRedisOptions {
  readonly process: string;
  readonly origin: string;
  readonly readings: RedisReadings;
  /** Reads the identity of the Redis server, or proposes one. Rejects while Redis is down. */
  readonly identity: (proposed: string) => Promise<string>;
  readonly notice: Notify;
}

const checkEveryMs = 1_000;
const saveEveryMs = 10_000;
/** A process counts as running if it has read the identity within this time. */
const runningWithinMs = 30_000;
/**
 * Time for which a promoted replica and the former primary may both be in use. During a failover, some instances still
 * use the former primary for a while. Startup does not wait for this time.
 */
const failoverMs = 10_000;
/**
 * Number and interval of the checks at startup, if a running process has read a different identity. After a restart of
 * Redis, the other processes read the new identity within this time.
 */
const startChecks = { count: 20, everyMs: 500 } as const;
/**
 * Checks that all processes of a store use the same Redis. Each server has an identity (`server.lua`), which the
 * processes compare through PostgreSQL. A restart or a failover may change the identity, but then every process reads
 * the new one. There are two servers only if a process reads the same identity before and after another process has
 * read a different one. In that case, the server of more processes is used, or else the one that was read first; the
 * processes that use another one stop serving requests. An outage of PostgreSQL, or a step of its clock, removes the
 * readings of processes, but a process still remembers its own.
 *
 * While some processes cannot read their server, this proof is impossible, and their server may have a new identity
 * afterwards. They still store that they are running, with their last reading. A process that reads a server which no
 * confirmed process uses does not start during that time, or is not confirmed if it has started already. Only confirmed
 * processes are counted, so that they do not lose this comparison because of a restart of Redis.
 */
export class SharedRedis implements AsyncDisposable {
  readonly #options: SharedRedisOptions;
  #checks: PeriodicTask | undefined;
  /** A process that reads the identity of different data, possibly because the server has just changed. */
  #suspect: RedisReading | undefined;
  #other: RedisReading | undefined;
  /** A running process whose server may be a different one, which prevents startup. */
  #obstacle: RedisReading | undefined;
  #isConfirmed = false;
  #isSaved = false;
  /** The server that this process uses, and since when, even if its reading has been removed. */
  #used: Pick<RedisReading, 'server' | 'since'> | undefined;

  constructor(options: SharedRedisOptions) {
    this.#options = options;
  }

  /**
   * Throws `StoreUnusableError` if another process uses a different server, or used one when it was last able to read
   * it.
   */
  async open(): Promise<void> {
    await this.#settle();
    this.#checks = new PeriodicTask(checkEveryMs, () => this.#check());
  }

  /**
   * Like `open`, for a command, which checks only once. Stores nothing unless a running process has read a different
   * identity.
   */
  async openForCommand(): Promise<void> {
    const { readings, identity } = this.#options;
    try {
      const { now, proposed, readings: all } = await readings.list();
      const running = all.filter((reading) => isRecent(reading, now, runningWithinMs));
      if (running.length === 0) return;
      const server = await identity(proposed);
      if (running.every((reading) => haveSameData(reading.server, server))) return;
    } catch {
      // Other code reports a server that does not respond.
      return;
    }
    await this.#settle();
  }

  async #settle(): Promise<void> {
    for (let check = 1; check <= startChecks.count; check++) {
      // Other code reports a server that does not respond, which does not prevent startup.
      await this.#check().catch(() => undefined);
      if (this.#other !== undefined) throw new StoreUnusableError(mismatchReason(this.#options, this.#other));
      if (this.#suspect === undefined) return;
      await sleep(startChecks.everyMs);
    }
    if (this.#obstacle !== undefined)
      throw new StoreUnusableError(obstacleMessage(this.#options, this.#obstacle));
  }

  /** Throws `StorageUnavailable` if another process uses a different server. */
  expectShared(): void {
    if (this.#other !== undefined) throw new StorageUnavailable(fatalTroubles.otherRedis);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { readings, process } = this.#options;
    await this.#checks?.[Symbol.asyncDispose]();
    if (this.#isSaved) await readings.remove(process).catch(() => undefined);
  }

  async #check(): Promise<void> {
    const { readings, process, origin, identity } = this.#options;
    const listedAt = performance.now();
    const { now, proposed, readings: all } = await readings.list();
    const own = all.find((reading) => reading.process === process);
    const running = all.filter((reading) => reading !== own && isRecent(reading, now, runningWithinMs));
    const server = await identity(proposed).catch(() => undefined);
    if (server === undefined) return this.#keep(own, running, now);
    const readBy = now + Math.ceil(performance.now() - listedAt);
    const since = Math.min(this.#used?.server === server ? this.#used.since : readBy, readBy);
    this.#used = { server, since };
    this.#suspect = running.find((reading) => !haveSameData(reading.server, server));
    const isKnown = own?.server === server && own.from > 0;
    const other = isKnown ? findSeniorServer(own, running, now) : this.#other;
    const confirmed = running.filter(({ isConfirmed }) => isConfirmed);
    const isShared = confirmed.length === 0 || confirmed.some((reading) => areSame(reading.server, server));
    this.#obstacle = isShared || !isKnown ? undefined : confirmed.find(({ until }) => until >= own.since);
    this.#isConfirmed = other === undefined && (this.#isConfirmed || isShared);
    const isConfirmed = this.#isConfirmed;
    if (
      !isKnown ||
      this.#suspect !== undefined ||
      own.isConfirmed !== isConfirmed ||
      !isRecent(own, now, saveEveryMs)
    ) {
      this.#isSaved = true;
      await readings.save({ process, origin, server, since, from: now, isConfirmed });
    }
    if (isKnown) this.#apply(other);
  }

  /** Stores that this process is running. Without any reading, it counts as using the server of the other processes. */
  async #keep(own: RedisReading | undefined, running: readonly RedisReading[], now: number): Promise<void> {
    const { readings, process, origin } = this.#options;
    const hasRead = own !== undefined && own.from > 0;
    const others = running.filter(({ isConfirmed }) => isConfirmed);
    const { server } = (hasRead ? own : (others.find(({ from }) => from > 0) ?? own ?? others[0])) ?? {};
    if (server === undefined) return;
    const isDoubted = running.some((reading) => !haveSameData(reading.server, server));
    if (own?.server === server && !isDoubted && isRecent(own, now, saveEveryMs)) return;
    this.#isSaved = true;
    await readings.keep({ process, origin, server });
  }

  #apply(other: RedisReading | undefined): void {
    const before = this.#other;
    this.#other = other;
    if ((before === undefined) === (other === undefined)) return;
    const text = other && `requests are rejected: ${mismatchReason(this.#options, other)}`;
    this.#options.notice(text ?? 'all instances use the same Redis again', {
      part: 'shared Redis',
      works: other === undefined,
      failsRequests: true,
    });
  }
}

/**
 * False for a time in the future, because PostgreSQL's clock was set back after the reading, so its times prove
 * nothing.
 */
function isRecent({ until }: RedisReading, now: number, withinMs: number): boolean {
  return until >= now - withinMs && until <= now;
}

/** Whether the servers are the same, or one has a copy of the other's data. */
function haveSameData(one: string, other: string): boolean {
  return one.split('/')[0] === other.split('/')[0];
}

/** A process that may not run INFO reads an identity without the second part. */
function areSame(one: string, other: string): boolean {
  const [run, otherRun] = [one.split('/')[1], other.split('/')[1]];
  return haveSameData(one, other) && (run === otherRun || run === undefined || otherRun === undefined);
}

/**
 * The reading of a different server that certainly coexists with the server of `own`, and must be used instead of it.
 */
function findSeniorServer(
  own: RedisReading,
  running: readonly RedisReading[],
  now: number,
): RedisReading | undefined {
  const usersOf = (server: string) => {
    const users = [own, ...running].filter((each) => areSame(each.server, server));
    const confirmed = users.filter(({ isConfirmed }) => isConfirmed);
    const known = confirmed.length > 0 ? confirmed : users;
    return { count: confirmed.length, first: Math.min(...known.map(({ since }) => since)) };
  };
  const its = usersOf(own.server);
  return running.find(({ server, from }) => {
    const toleratedMs = haveSameData(server, own.server) ? failoverMs : 0;
    if (areSame(server, own.server) || from < own.since + toleratedMs) return false;
    const { count, first } = usersOf(server);
    if (now < first + toleratedMs) return false;
    if (count !== its.count) return count > its.count;
    return first < its.first || (first === its.first && server < own.server);
  });
}

function mismatchReason({ origin }: SharedRedisOptions, other: RedisReading): string {
  return (
    `This process (${origin}) and another process of this store (${other.origin}) use different Redis servers ` +
    'or prefixes, so limits and changes would not be shared. Set REDIS_URL to the same server for all instances, and ' +
    'REDIS_PREFIX to the same value. To move to another server, stop all instances first.'
  );
}

function obstacleMessage({ origin }: SharedRedisOptions, other: RedisReading): string {
  return (
    `This process (${origin}) uses a different Redis server than another process of this store (${other.origin}) used ` +
    'when it was last able to reach its server. Set REDIS_URL to the same server for all instances, and start this ' +
    'process when the other one can reach its server or has stopped. To move to another server, stop all instances first.'
  );
}
