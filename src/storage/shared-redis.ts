import { setTimeout as sleep } from 'node:timers/promises';
import type { Notice } from './outage.ts';
import { PeriodicTask } from './periodic-task.ts';
import { StorageUnavailable, StorageUnusable } from './storage.ts';

/** The identity that a process has read from its Redis. Times are those of PostgreSQL (Unix ms). */
export interface RedisReading {
  readonly process: string;
  /** Where the process runs and its REDIS_URL, without passwords. */
  readonly origin: string;
  /** The server's identity. */
  readonly server: string;
  /** Time by which the process had first read this identity. */
  readonly since: number;
  /** A time before the last reading. */
  readonly from: number;
  /** A time after the last reading. */
  readonly until: number;
}

export interface RedisReadings {
  /** The readings of all processes, the current time, and a new identity for a server that has none. */
  list(): Promise<{
    readonly now: number;
    readonly proposed: string;
    readonly readings: readonly RedisReading[];
  }>;
  /** Stores a reading that began after the time `from`. */
  save(reading: Pick<RedisReading, 'process' | 'origin' | 'server' | 'from'>): Promise<void>;
  remove(process: string): Promise<void>;
}

interface SharedRedisOptions {
  readonly process: string;
  readonly origin: string;
  readonly readings: RedisReadings;
  /** Reads the identity of the Redis server, or proposes one. Rejects while Redis is down. */
  readonly identity: (proposed: string) => Promise<string>;
  readonly notice: Notice;
}

const checkEveryMs = 1_000;
const saveEveryMs = 10_000;
/** A process counts as running if it has read the identity within this time. */
const runningWithinMs = 30_000;
/** Number and interval of the checks before the start, if a running process has read a different identity. */
const startChecks = { count: 10, everyMs: 500 } as const;

/**
 * Checks that all processes of a store use the same Redis. Each server has a random identity, which the processes
 * compare through PostgreSQL. A restart or a failover may change the identity, but then every process reads the new one.
 * There are two servers only if a process reads the same identity before and after another process has read a different
 * one. In that case, the processes that use the server with the most recent first reading stop serving requests.
 */
export class SharedRedis implements AsyncDisposable {
  readonly #options: SharedRedisOptions;
  #checks: PeriodicTask | undefined;
  /** A process that reads a different identity, possibly because the server has just changed. */
  #suspect: RedisReading | undefined;
  #other: RedisReading | undefined;
  #isSaved = false;

  constructor(options: SharedRedisOptions) {
    this.#options = options;
  }

  /** Throws `StorageUnusable` if another process uses a different server. */
  async open(): Promise<void> {
    for (let check = 1; check <= startChecks.count; check++) {
      // A server that does not respond is reported elsewhere, and does not prevent the start.
      await this.#check().catch(() => undefined);
      if (this.#other !== undefined) throw new StorageUnusable(reasonOf(this.#options, this.#other));
      if (this.#suspect === undefined) break;
      await sleep(startChecks.everyMs);
    }
    this.#checks = new PeriodicTask(checkEveryMs, () => this.#check());
  }

  /** Throws `StorageUnavailable` if another process uses a different server. */
  expectShared(): void {
    if (this.#other !== undefined) throw new StorageUnavailable(otherRedis);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { readings, process } = this.#options;
    await this.#checks?.[Symbol.asyncDispose]();
    if (this.#isSaved) await readings.remove(process).catch(() => undefined);
  }

  async #check(): Promise<void> {
    const { readings, process, origin, identity } = this.#options;
    const { now, proposed, readings: all } = await readings.list();
    const server = await identity(proposed);
    const own = all.find((reading) => reading.process === process);
    const running = all.filter((reading) => reading !== own && isRecent(reading, now, runningWithinMs));
    this.#suspect = running.find((reading) => reading.server !== server);
    const isKnown = own?.server === server;
    if (!isKnown || this.#suspect !== undefined || !isRecent(own, now, saveEveryMs)) {
      this.#isSaved = true;
      await readings.save({ process, origin, server, from: now });
    }
    if (isKnown) this.#apply(seniorTo(own, running));
  }

  #apply(other: RedisReading | undefined): void {
    const before = this.#other;
    this.#other = other;
    if ((before === undefined) === (other === undefined)) return;
    const text = other && `requests are rejected: ${reasonOf(this.#options, other)}`;
    this.#options.notice(text ?? 'all instances use the same Redis again', {
      part: 'shared Redis',
      works: other === undefined,
    });
  }
}

const otherRedis =
  'This instance uses a different Redis than other instances. Set the same REDIS_URL for all.';

/** False for a time in the future: PostgreSQL's clock has gone back since the reading, so that its times prove nothing. */
function isRecent({ until }: RedisReading, now: number, withinMs: number): boolean {
  return until >= now - withinMs && until <= now;
}

/**
 * The reading of a different server that certainly exists beside the server of `own`, and that was first read earlier.
 */
function seniorTo(own: RedisReading, running: readonly RedisReading[]): RedisReading | undefined {
  const firstOf = (server: string) =>
    Math.min(...[own, ...running].filter((each) => each.server === server).map(({ since }) => since));
  const ownFirst = firstOf(own.server);
  return running.find(({ server, from }) => {
    if (server === own.server || from < own.since) return false;
    const first = firstOf(server);
    return first < ownFirst || (first === ownFirst && server < own.server);
  });
}

function reasonOf({ origin }: SharedRedisOptions, other: RedisReading): string {
  return (
    `This process (${origin}) and another process of this store (${other.origin}) use different Redis servers, ` +
    'so limits and changes would not be shared. Set REDIS_URL to the same server for all instances. To move to another ' +
    'server, stop all instances first.'
  );
}
